/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Only threads in the chosen cgroups are recorded; all others are counted as filtered.
 * Runs beside others: it waits for samples, of programs in cgroups of its own.
 */
#include "base/array.h"
#include "capture/cgroup_choice.h"
#include "capture/cgroup_names.h"
#include "drain/drain.h"
#include "tests/harness/cgroup.h"
#include "tests/harness/privilege.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define SLICE	"pilotlighttest.slice"
#define UNIT_A	SLICE "/pilotlight-a.service"
#define UNIT_B	SLICE "/pilotlight-b.service"
#define MANAGER SLICE "/user@4711.service"
#define ID	"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

enum {
	PROGRAMS_MAX = 4,
	CGROUPS_MAX = 128,
	ENOUGH = 5, /* samples */
	PERIOD_NS = 100000,
	DEEP = PILOTLIGHT_CGROUP_DEPTH + 8,
};

static struct fixture {
	struct capture *capture;
	struct drain *drain;
	struct accounts total[PILOTLIGHT_SOURCES];
	struct program {
		pid_t pid;
		uint64_t samples[PILOTLIGHT_SOURCES];
	} programs[PROGRAMS_MAX];
	size_t count;
	struct test_cgroup cgroups[CGROUPS_MAX]; /* in the order in which they were made */
	size_t cgroup_count;
} fixture;

static struct test_cgroup *make(const char *name)
{
	struct test_cgroup *cgroup = &fixture.cgroups[fixture.cgroup_count];
	const char *reason = test_cgroup_make(cgroup, name);

	assert_true(fixture.cgroup_count < CGROUPS_MAX);
	if (reason) {
		print_message("skipped: %s\n", reason);
		skip();
	}
	fixture.cgroup_count++;
	return cgroup;
}

/* `rules` end with NULL; those that begin with '-' exclude. */
static void open_with(uint32_t sources, const char *const *rules)
{
	struct cgroup_choice choice = { .count = 0 };
	const struct capture_settings settings = {
		.rate_hz = 999,
		.map_budget_bytes = 8 << 20,
		.wants_kernel = true,
		.sources = sources,
		.periods = { [PILOTLIGHT_SOURCE_OFFCPU] = PERIOD_NS },
		.choice = &choice,
	};
	struct fault fault = { 0 };

	if (privilege_lacks_bpf() || cgroup_names_find_missing()) {
		print_message("skipped: %s\n", privilege_lacks_bpf() ? privilege_lacks_bpf()
								     : cgroup_names_find_missing());
		skip();
	}
	(void)make(SLICE);
	for (size_t i = 0; rules[i]; i++)
		assert_int_equal(cgroup_choice_add(&choice, rules[i] + (rules[i][0] == '-'),
					 rules[i][0] == '-', &fault),
			0);
	if (capture_open(&settings, &fixture.capture, &fault) < 0)
		fail_msg("%s", fault.text);
	assert_int_equal(drain_new(capture_maps(fixture.capture), &fixture.drain), 0);
	if (capture_start(fixture.capture, &fault) < 0)
		fail_msg("%s", fault.text);
}

#define OPEN(...) open_with(1 << PILOTLIGHT_SOURCE_CPU, (const char *const[]){ __VA_ARGS__, NULL })

static int take_sample(void *context, const struct raw_sample *sample)
{
	for (size_t i = 0; i < fixture.count; i++)
		if ((uint32_t)fixture.programs[i].pid == sample->process.tgid)
			fixture.programs[i].samples[sample->source] += sample->count;
	return 0;
}

static void drain_once(void)
{
	struct accounts accounts[PILOTLIGHT_SOURCES];

	assert_int_equal(drain_flip(fixture.drain), 0);
	assert_int_equal(drain_window(fixture.drain, take_sample, NULL, accounts), 0);
	for (int i = 0; i < PILOTLIGHT_SOURCES; i++) {
		assert_true(accounts_close(&accounts[i]));
		accounts_add(&fixture.total[i], &accounts[i]);
	}
}

/* Runs in the cgroup for ever, or sleeps. */
static struct program *start(const struct test_cgroup *cgroup, bool sleeps)
{
	struct program *program = &fixture.programs[fixture.count++];
	int ready[2];
	char byte;

	assert_true(fixture.count <= PROGRAMS_MAX);
	assert_int_equal(pipe(ready), 0);
	program->pid = fork();
	if (program->pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (test_cgroup_enter(cgroup, 0) < 0 || write(ready[1], "", 1) != 1)
			_exit(1);
		while (sleeps)
			(void)pause();
		for (;;)
			;
	}
	(void)close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	(void)close(ready[0]);
	/* It began in the cgroup of this process. */
	drain_once();
	memset(program->samples, 0, sizeof(program->samples));
	return program;
}

static uint64_t filtered(enum pilotlight_source source)
{
	return fixture.total[source].dropped[PILOTLIGHT_DROP_FILTERED];
}

/* Both run, so the one that is left out is also counted. */
static void await_samples(const struct program *program)
{
	const struct timespec pause_time = { .tv_nsec = 20000000 };

	while (program->samples[PILOTLIGHT_SOURCE_CPU] < ENOUGH ||
		filtered(PILOTLIGHT_SOURCE_CPU) < ENOUGH) {
		(void)nanosleep(&pause_time, NULL);
		drain_once();
	}
}

static void end(struct program *program)
{
	int status;

	assert_int_equal(kill(program->pid, SIGKILL), 0);
	assert_int_equal(waitpid(program->pid, &status, 0), program->pid);
}

static int close_fixture(void **state)
{
	for (size_t i = 0; i < fixture.count; i++) {
		(void)kill(fixture.programs[i].pid, SIGKILL);
		(void)waitpid(fixture.programs[i].pid, NULL, 0);
	}
	while (fixture.cgroup_count > 0)
		(void)test_cgroup_remove(&fixture.cgroups[--fixture.cgroup_count]);
	drain_free(fixture.drain);
	capture_free(fixture.capture);
	fixture = (struct fixture){ 0 };
	return 0;
}

static void assert_recorded(const struct program *in, const struct program *out)
{
	await_samples(in);
	assert_int_equal(out->samples[PILOTLIGHT_SOURCE_CPU], 0);
}

static void a_unit_is_recorded_with_all_below_it(void **state)
{
	struct program *in, *out, *below;

	OPEN("unit:pilotlight-a");
	in = start(make(UNIT_A), false);
	out = start(make(UNIT_B), false);
	assert_recorded(in, out);
	/* While it samples. */
	below = start(make(UNIT_A "/later"), false);
	assert_recorded(below, out);
}

static void a_cgroup_may_come_later_and_again(void **state)
{
	struct program *in, *again, *out;
	uint64_t id;

	OPEN("cgroup:/" UNIT_A);
	out = start(make(UNIT_B), false);
	in = start(make(UNIT_A), false);
	assert_recorded(in, out);
	id = fixture.cgroups[fixture.cgroup_count - 1].id;
	end(in);
	while (test_cgroup_remove(&fixture.cgroups[fixture.cgroup_count - 1]) == -EBUSY)
		;
	fixture.cgroup_count--;
	again = start(make(UNIT_A), false);
	assert_int_not_equal(fixture.cgroups[fixture.cgroup_count - 1].id, id);
	assert_recorded(again, out);
	in->pid = again->pid;
	fixture.count--;
}

static void exclusion_wins(void **state)
{
	struct program *in, *out;

	OPEN("unit:" SLICE, "-unit:pilotlight-b.service");
	in = start(make(UNIT_A), false);
	out = start(make(UNIT_B), false);
	assert_recorded(in, out);
}

static void without_inclusion_all_others_are_recorded(void **state)
{
	struct program *in, *out;

	OPEN("-unit:pilotlight-b*");
	in = start(make(UNIT_A), false);
	out = start(make(UNIT_B), false);
	assert_recorded(in, out);
}

static void containers_are_known_by_part_of_their_id(void **state)
{
	struct program *in, *out;

	OPEN("container:0123456789ab");
	in = start(make(SLICE "/docker-" ID ".scope"), false);
	out = start(make(SLICE "/docker-fedcba98" ID ".scope"), false);
	assert_recorded(in, out);
}

/* Otherwise users could hide, and they name the cgroups below their own systemd. */
static void users_cannot_take_the_name_of_what_is_left_out(void **state)
{
	struct program *unit, *container, *out;

	OPEN("-unit:pilotlight-a", "-container:" ID);
	out = start(make(UNIT_A), false);
	(void)make(MANAGER);
	unit = start(make(MANAGER "/pilotlight-a.service"), false);
	container = start(make(MANAGER "/docker-" ID ".scope"), false);
	assert_recorded(unit, out);
	assert_recorded(container, out);
}

/* Deeper than the sampler looks. */
static void deep_cgroups_belong_to_those_above(void **state)
{
	const struct test_cgroup *deepest[2];
	struct program *in, *out;

	OPEN("unit:" SLICE, "-unit:pilotlight-b");
	for (int i = 0; i < 2; i++) {
		char name[4 * DEEP + 64];
		size_t size = (size_t)snprintf(name, sizeof(name), "%s", i ? UNIT_B : UNIT_A);

		(void)make(name);
		for (int depth = 0; depth < DEEP; depth++, size += 2) {
			(void)snprintf(name + size, sizeof(name) - size, "/d");
			deepest[i] = make(name);
		}
	}
	in = start(deepest[0], false);
	out = start(deepest[1], false);
	assert_recorded(in, out);
}

static void time_off_cpu_is_chosen_likewise(void **state)
{
	const struct timespec pause_time = { .tv_nsec = 20000000 };
	struct program *in, *out;

	open_with(1 << PILOTLIGHT_SOURCE_CPU | 1 << PILOTLIGHT_SOURCE_OFFCPU,
		(const char *const[]){ "unit:pilotlight-a", NULL });
	in = start(make(UNIT_A), true);
	out = start(make(UNIT_B), true);
	/* They sleep for ever, so visitors take their time. */
	while (in->samples[PILOTLIGHT_SOURCE_OFFCPU] < ENOUGH ||
		filtered(PILOTLIGHT_SOURCE_OFFCPU) < ENOUGH) {
		struct timespec now;

		(void)nanosleep(&pause_time, NULL);
		assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &now), 0);
		(void)capture_take_blocked(
			fixture.capture, (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec);
		drain_once();
	}
	assert_int_equal(out->samples[PILOTLIGHT_SOURCE_OFFCPU], 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(a_unit_is_recorded_with_all_below_it, close_fixture),
		cmocka_unit_test_teardown(a_cgroup_may_come_later_and_again, close_fixture),
		cmocka_unit_test_teardown(exclusion_wins, close_fixture),
		cmocka_unit_test_teardown(without_inclusion_all_others_are_recorded, close_fixture),
		cmocka_unit_test_teardown(containers_are_known_by_part_of_their_id, close_fixture),
		cmocka_unit_test_teardown(
			users_cannot_take_the_name_of_what_is_left_out, close_fixture),
		cmocka_unit_test_teardown(deep_cgroups_belong_to_those_above, close_fixture),
		cmocka_unit_test_teardown(time_off_cpu_is_chosen_likewise, close_fixture),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
