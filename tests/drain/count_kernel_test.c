/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events that the kernel counts, of programs that know how many they had.
 * Runs beside others: the counts are of those programs alone.
 */
#include "base/array.h"
#include "drain/drain.h"
#include "tests/harness/privilege.h"

#include <linux/perf_event.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum {
	MAP_BYTES = 16 << 20,
	PAGE_BYTES = 4096,
	/* With this rate samples do not get rarer. */
	RATE_HZ = 10000,
	UNWIND_BYTES = 1 << 20,
	NO_WALKS = 0, /* the kernel takes a second to verify those of one program */
};
#define FAULTS PILOTLIGHT_SOURCE_FAULTS

/* With the program. */
struct shared {
	uint64_t expected; /* events, by its own count or by getrusage() */
};

static struct fixture {
	struct capture *capture;
	struct drain *drain;
	struct shared *shared;
	pid_t pid;	 /* of the program */
	uint64_t events; /* in samples of the program */
	uint64_t samples, with_stack;
	uint64_t period;
	enum pilotlight_source source;
	struct accounts total[PILOTLIGHT_SOURCES];
} fixture;

static void open_fixture_for(enum pilotlight_source source,
	const struct pilotlight_counted_event *event, uint32_t rate_hz, uint64_t period,
	size_t unwind_bytes)
{
	struct capture_settings settings = {
		.rate_hz = rate_hz,
		.event = CAPTURE_EVENT_CLOCK,
		.wants_kernel = true,
		.map_budget_bytes = MAP_BYTES,
		.unwind_budget_bytes = unwind_bytes,
		.skips_interpreted = true, /* faster to verify */
		.filters_processes = true,
		.sources = 1U << PILOTLIGHT_SOURCE_CPU | 1U << source,
	};
	struct fault fault = { 0 };

	if (privilege_lacks_bpf()) {
		print_message("skipped: %s\n", privilege_lacks_bpf());
		skip();
	}
	fixture = (struct fixture){ .source = source, .period = period };
	settings.periods[source] = period;
	if (event)
		settings.counted[source - PILOTLIGHT_SOURCE_COUNTED] = *event;
	fixture.shared = mmap(NULL, sizeof(*fixture.shared), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(fixture.shared, MAP_FAILED);
	if (capture_open(&settings, &fixture.capture, &fault) < 0)
		fail_msg("%s", fault.text);
	assert_int_equal(drain_new(capture_maps(fixture.capture), &fixture.drain), 0);
	if (capture_start(fixture.capture, &fault) < 0)
		fail_msg("%s", fault.text);
	assert_int_equal(capture_follow(fixture.capture, getpid()), 0);
}

static void open_fixture(uint32_t rate_hz, uint64_t period, size_t unwind_bytes)
{
	open_fixture_for(FAULTS, NULL, rate_hz, period, unwind_bytes);
}

static int close_fixture(void **state)
{
	drain_free(fixture.drain);
	capture_free(fixture.capture);
	if (fixture.shared)
		(void)munmap(fixture.shared, sizeof(*fixture.shared));
	fixture = (struct fixture){ 0 };
	return 0;
}

static int take_sample(void *context, const struct raw_sample *sample)
{
	if (sample->source != fixture.source || sample->process.tgid != (uint32_t)fixture.pid)
		return 0;
	assert_int_equal(sample->wait, PILOTLIGHT_WAIT_NONE);
	fixture.samples++;
	fixture.events += sample->count * fixture.period;
	fixture.with_stack += sample->walk_count + sample->user_ip_count + sample->user_count > 0;
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

static void touch(size_t pages)
{
	char *memory = mmap(NULL, pages * PAGE_BYTES, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		_exit(1);
	(void)madvise(memory, pages * PAGE_BYTES, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < pages; i++)
		((volatile char *)memory)[i * PAGE_BYTES] = 1;
}

typedef void (*program_function)(uint64_t number);

static void have_faults(uint64_t number)
{
	struct rusage usage;

	touch(number);
	(void)getrusage(RUSAGE_SELF, &usage);
	fixture.shared->expected = (uint64_t)(usage.ru_minflt + usage.ru_majflt);
}

/* Forks a program, and drains until it has ended. */
static void run(program_function program, uint64_t number)
{
	struct pollfd waited[2] = { { .fd = drain_poll_fd(fixture.drain), .events = POLLIN },
		{ .events = POLLIN } };
	int status, start[2];
	char byte = 0;

	assert_int_equal(pipe(start), 0);
	fixture.pid = fork();
	if (fixture.pid == 0) {
		(void)!read(start[0], &byte, 1);
		/* What is done behind the count has no faults then. */
		fixture.shared->expected = 0;
		(void)kill(getpid(), 0);
		program(number);
		(void)kill(getpid(), SIGKILL);
	}
	waited[1].fd = (int)syscall(SYS_pidfd_open, fixture.pid, 0);
	assert_true(waited[1].fd >= 0);
	assert_int_equal(write(start[1], &byte, 1), 1);
	while (!waited[1].revents) {
		assert_true(poll(waited, ARRAY_SIZE(waited), -1) > 0);
		if (waited[0].revents)
			drain_once();
	}
	(void)close(waited[1].fd);
	(void)close(start[0]);
	(void)close(start[1]);
	assert_int_equal(waitpid(fixture.pid, &status, 0), fixture.pid);
	drain_once();
	print_message("# %llu events, %llu in %llu samples\n",
		(unsigned long long)fixture.shared->expected, (unsigned long long)fixture.events,
		(unsigned long long)fixture.samples);
	assert_int_equal(WTERMSIG(status), SIGKILL);
	assert_int_equal(accounts_lost(&fixture.total[fixture.source]), 0);
}

static void each_fault_is_a_sample(void **state)
{
	open_fixture(RATE_HZ, 1, UNWIND_BYTES);
	run(have_faults, 1000);
	assert_true(fixture.shared->expected > 1000);
	assert_int_equal(fixture.events, fixture.shared->expected);
	assert_int_equal(fixture.with_stack, fixture.samples);
}

static void a_sample_stands_for_a_period(void **state)
{
	open_fixture(RATE_HZ, 97, NO_WALKS);
	run(have_faults, 100000);
	/* Each CPU may be within a period. */
	assert_in_range(fixture.events, fixture.shared->expected - 97 * 64,
		fixture.shared->expected + 97 * 64);
	assert_int_equal(fixture.events % 97, 0);
}

/* Of 200,000 some 200 in a slot of 0.1 s are taken, each for up to 256 others. */
static void samples_that_come_too_fast_stand_for_more(void **state)
{
	open_fixture(99, 1, UNWIND_BYTES);
	run(have_faults, 200000);
	assert_true(fixture.samples < 100000);
	assert_in_range(fixture.events, fixture.shared->expected / 100 * 70,
		fixture.shared->expected / 100 * 130);
}

static void sleep_often(uint64_t number)
{
	const struct timespec moment = { .tv_nsec = 1000 };
	struct rusage usage;

	for (uint64_t i = 0; i < number; i++)
		(void)nanosleep(&moment, NULL);
	(void)getrusage(RUSAGE_SELF, &usage);
	fixture.shared->expected = (uint64_t)(usage.ru_nvcsw + usage.ru_nivcsw);
}

static void call_often(uint64_t number)
{
	fixture.shared->expected = number;
	for (uint64_t i = 0; i < number; i++)
		(void)syscall(SYS_getppid);
}

static void an_event_of_the_kernel_is_counted(void **state)
{
	static const struct pilotlight_counted_event switches = {
		.name = "context-switches",
		.kind = PILOTLIGHT_COUNTED_PERF,
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CONTEXT_SWITCHES,
	};

	open_fixture_for(PILOTLIGHT_SOURCE_COUNTED_LAST, &switches, RATE_HZ, 1, UNWIND_BYTES);
	run(sleep_often, 500);
	/* Some sleeps are over before they begin. Its end is a switch, and it may be preempted
	 * before. */
	assert_true(fixture.shared->expected >= 250);
	assert_in_range(fixture.events, fixture.shared->expected, fixture.shared->expected + 5);
	assert_true(fixture.with_stack >= fixture.shared->expected);
}

static const struct pilotlight_counted_event calls = {
	.name = "syscalls:sys_enter_getppid",
	.kind = PILOTLIGHT_COUNTED_TRACEPOINT,
};

static void a_tracepoint_is_counted(void **state)
{
	if (access("/sys/kernel/tracing/events/syscalls/sys_enter_getppid/id", R_OK) < 0)
		skip();
	open_fixture_for(PILOTLIGHT_SOURCE_COUNTED, &calls, RATE_HZ, 1, UNWIND_BYTES);
	run(call_often, 5000);
	assert_int_equal(fixture.events, 5000);
	assert_int_equal(fixture.with_stack, fixture.samples);
}

/* Rounded by chance: of 20,000 some 2,857 samples, with a standard deviation of 50. */
static void periods_of_a_tracepoint_are_right_in_expectation(void **state)
{
	if (access("/sys/kernel/tracing/events/syscalls/sys_enter_getppid/id", R_OK) < 0)
		skip();
	open_fixture_for(PILOTLIGHT_SOURCE_COUNTED, &calls, RATE_HZ, 7, NO_WALKS);
	run(call_often, 20000);
	assert_in_range(fixture.events, 20000 - 7 * 200, 20000 + 7 * 200);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(each_fault_is_a_sample, close_fixture),
		cmocka_unit_test_teardown(a_sample_stands_for_a_period, close_fixture),
		cmocka_unit_test_teardown(samples_that_come_too_fast_stand_for_more, close_fixture),
		cmocka_unit_test_teardown(an_event_of_the_kernel_is_counted, close_fixture),
		cmocka_unit_test_teardown(a_tracepoint_is_counted, close_fixture),
		cmocka_unit_test_teardown(
			periods_of_a_tracepoint_are_right_in_expectation, close_fixture),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
