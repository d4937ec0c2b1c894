/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Both halves of capture on the running kernel, in one process and in two.
 */
#include "base/clock.h"
#include "capture/capture.h"
#include "capture/capture_host.h"
#include "capture/capture_session.h"
#include "pilotlight/event.h"
#include "sandbox/sandbox.h"
#include "tests/capture/served_capture.h"
#include "tests/harness/failing_allocation.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>

enum { RATE_HZ = 999 };

/* The kernel takes a second to verify walks, and most tests can do without them. */
static const struct capture_settings settings = {
	.rate_hz = RATE_HZ,
	.event = CAPTURE_EVENT_CLOCK,
	.wants_kernel = true,
	.map_budget_bytes = 4 << 20,
};
static const struct capture_settings with_walks = {
	.rate_hz = RATE_HZ,
	.event = CAPTURE_EVENT_CLOCK,
	.wants_kernel = true,
	.map_budget_bytes = 4 << 20,
	.unwind_budget_bytes = 1 << 20,
	.skips_interpreted = true, /* faster to verify */
};

struct setting {
	struct capture_place place;
	size_t descriptors;
};

static int set_up_here(void **state)
{
	struct setting *setting = calloc(1, sizeof(*setting));

	assert_non_null(setting);
	setting->descriptors = open_descriptors();
	*state = setting;
	return 0;
}

static int set_up_server(void **state)
{
	(void)set_up_here(state);
	start_server(&((struct setting *)*state)->place);
	return 0;
}

static int tear_down(void **state)
{
	struct setting *setting = *state;

	stop_server(&setting->place);
	assert_int_equal(open_descriptors(), setting->descriptors);
	free(setting);
	return 0;
}

static struct capture *open_capture(struct setting *setting, const struct capture_settings *wanted)
{
	struct fault fault = { 0 };
	struct capture *capture = NULL;

	skip_without_bpf();
	if (place_capture(&setting->place, wanted, &capture, &fault) < 0)
		fail_msg("%s", fault.text);
	return capture;
}

static void start(struct capture *capture)
{
	struct fault fault = { 0 };

	if (capture_start(capture, &fault) < 0)
		fail_msg("%s", fault.text);
}

/* By both sets' counters. */
static uint64_t fired(const struct capture *capture)
{
	int cpus = libbpf_num_possible_cpus();
	struct pilotlight_counters *counters = calloc((size_t)cpus, sizeof(*counters));
	uint64_t sum = 0;

	assert_non_null(counters);
	for (uint32_t set = 0; set < PILOTLIGHT_SET_COUNT; set++) {
		assert_int_equal(
			bpf_map_lookup_elem(capture_maps(capture)->counters_fd, &set, counters), 0);
		for (int i = 0; i < cpus; i++)
			sum += counters[i].fired;
	}
	free(counters);
	return sum;
}

/* Until so many more samples have fired. */
static void wait_for_samples(const struct capture *capture, uint64_t count)
{
	uint64_t until = fired(capture) + count;

	while (fired(capture) < until)
		(void)poll(NULL, 0, 1);
}

static void sampling_runs_from_start_to_stop(void **state)
{
	struct capture *capture = open_capture(*state, &with_walks);
	uint64_t expected, seen;
	struct capture_cost cost;

	assert_false(capture_is_taken_over(capture));
	assert_string_equal(capture_event_name(capture), "");
	assert_int_equal(fired(capture), 0);
	assert_true(capture_follow_cpus(capture) > 0);
	assert_string_equal(capture_event_name(capture), "");
	start(capture);
	assert_string_equal(capture_event_name(capture), "cpu-clock");
	assert_true(capture_cpu_count(capture) > 0);
	assert_int_equal(capture_maps(capture)->sizes.cpu_count, capture_cpu_count(capture));
	assert_int_equal(capture_rate_hz(capture), RATE_HZ);
	wait_for_samples(capture, 200);
	assert_int_equal(capture_follow_cpus(capture), capture_cpu_count(capture));
	capture_stop(capture);
	seen = fired(capture);
	expected = capture_expected_samples(capture);
	/* A timer that fires late, as that of a virtual machine that stood still, skips periods. */
	assert_true(seen <= expected + capture_cpu_count(capture));
	assert_true(expected >= 200 - capture_cpu_count(capture));
	capture_read_cost(capture, &cost);
	assert_int_equal(cost.program_runs, seen);
	assert_true(cost.program_ns > 0 && cost.map_bytes > 0 && cost.sideband_bytes > 0);
	assert_true(cost.mapped_bytes > 0);
	if (((struct setting *)*state)->place.server)
		assert_true(cost.broker_cpu_ns > 0 && cost.broker_resident_bytes > 0);
	else
		assert_int_equal(cost.broker_cpu_ns + cost.broker_resident_bytes, 0);
	assert_int_equal(fired(capture), seen);
	capture_free(capture);
}

/* Fired by the kernel's own account, and by the enabled times and periods of several rates. */
static void expected_samples_follow_the_rate(void **state)
{
	static const uint32_t rates[] = { 97, 499, 13, RATE_HZ };
	struct capture *capture = open_capture(*state, &settings);
	uint64_t cpus;

	start(capture);
	cpus = capture_cpu_count(capture);
	wait_for_samples(capture, 50);
	assert_int_equal(capture_set_rate(capture, RATE_HZ + 1), -ERANGE);
	assert_int_equal(capture_set_rate(capture, 0), -EINVAL);
	assert_int_equal(capture_rate_hz(capture), RATE_HZ);
	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		uint64_t fired_before, expected_before, began_ns, took_ns, fired_since, grown;

		assert_int_equal(capture_set_rate(capture, rates[i]), 0);
		assert_int_equal(capture_rate_hz(capture), rates[i]);
		began_ns = clock_monotonic_ns();
		expected_before = capture_expected_samples(capture);
		fired_before = fired(capture);
		wait_for_samples(capture, 20);
		fired_since = fired(capture) - fired_before;
		grown = capture_expected_samples(capture) - expected_before;
		took_ns = clock_monotonic_ns() - began_ns;
		/* Never more than the rate has room for; the new rate, not the old one. */
		assert_true(fired_since <= (took_ns / (NSEC_PER_SEC / rates[i]) + 2) * cpus);
		assert_true(grown <= (took_ns / (NSEC_PER_SEC / rates[i]) + 2) * cpus);
		assert_true(grown + 2 * cpus >= 20);
	}
	capture_stop(capture);
	assert_true(fired(capture) <= capture_expected_samples(capture) + 5 * cpus);
	capture_free(capture);
}

static bool has_cycles(void)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr), .type = PERF_TYPE_HARDWARE, .config = PERF_COUNT_HW_CPU_CYCLES
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd >= 0)
		(void)close(fd);
	return fd >= 0;
}

static void cycles_drive_it_or_are_refused(void **state)
{
	struct capture_settings cycles = settings;
	struct fault fault = { 0 };
	struct capture *capture;

	cycles.event = CAPTURE_EVENT_CYCLES;
	capture = open_capture(*state, &cycles);
	if (has_cycles()) {
		start(capture);
		assert_string_equal(capture_event_name(capture), "cycles");
	} else {
		assert_true(capture_start(capture, &fault) < 0);
		assert_non_null(strstr(fault.text, "PMU"));
		assert_string_equal(capture_event_name(capture), "");
		assert_true(capture_follow_cpus(capture) > 0);
		assert_int_equal(fired(capture), 0);
	}
	capture_free(capture);
}

/*
 * Sampling starts on all CPUs or not at all; once started, it goes on with the CPUs that are left.
 */
static void too_few_descriptors_change_nothing(void **state)
{
	struct capture_settings any = settings;
	struct fault fault = { 0 };
	struct capture *capture;
	struct rlimit limit;

	any.event = CAPTURE_EVENT_AUTO;
	capture = open_capture(*state, &any);
	/* Each CPU takes two, an event and its link. */
	for (int more = 0; more < 3 && more < 2 * (int)capture_cpu_count(capture); more++) {
		int r;

		limit = limit_descriptors(more);
		r = capture_start(capture, &fault);
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
		assert_int_equal(r, -EMFILE);
		assert_non_null(strstr(fault.text, strerror(EMFILE)));
		assert_string_equal(capture_event_name(capture), "");
	}
	start(capture);
	assert_string_equal(capture_event_name(capture), has_cycles() ? "cycles" : "cpu-clock");
	limit = limit_descriptors(0);
	assert_int_equal(capture_follow_cpus(capture), -EMFILE);
	assert_int_equal(capture_start(capture, &fault), 0);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	wait_for_samples(capture, 20);
	assert_int_equal(capture_follow_cpus(capture), capture_cpu_count(capture));
	capture_free(capture);
}

static void settings_beyond_the_bounds_are_refused(void **state)
{
	struct setting *setting = *state;
	struct capture_settings wrong = settings;
	struct fault fault = { 0 };
	struct capture *capture = NULL;

	skip_without_bpf();
	wrong.rate_hz = 100001;
	assert_int_equal(place_capture(&setting->place, &wrong, &capture, &fault), -EINVAL);
	assert_non_null(strstr(fault.text, "100001 Hz"));
	assert_null(capture);
}

static void a_forgotten_capture_stops_sampling(void **state)
{
	struct capture *capture = open_capture(*state, &settings);
	uint64_t before;

	start(capture);
	wait_for_samples(capture, 20);
	assert_int_equal(capture_forget(capture), 0);
	before = fired(capture);
	assert_int_equal(capture_follow_cpus(capture), -ENXIO);
	assert_int_equal(capture_set_rate(capture, 7), -ENXIO);
	assert_int_equal(capture_follow(capture, getpid()), -ENXIO);
	assert_int_equal(fired(capture), before);
	assert_int_equal(capture_follow(capture, 0), -EINVAL);
	capture_free(capture);
}

static struct pilotlight_file_key a_file(void)
{
	struct pilotlight_file_key key;

	memset(&key, 0x11, sizeof(key));
	return key;
}

static void the_next_engine_takes_over(void **state)
{
	const struct pilotlight_walk_file file = { .id = 5 };
	struct setting *setting = *state;
	struct pilotlight_file_key key = a_file();
	struct capture *capture = open_capture(setting, &with_walks);
	uint32_t window, used;
	uint64_t before;

	start(capture);
	assert_int_equal(capture_set_rate(capture, 499), 0);
	if (capture_walk_maps(capture))
		assert_int_equal(walk_maps_put_file(capture_walk_maps(capture), &key, &file), 0);
	wait_for_samples(capture, 20);
	before = fired(capture);
	window = *capture_maps(capture)->active_window;
	capture_free(capture);

	capture = open_capture(setting, &with_walks);
	assert_true(capture_is_taken_over(capture));
	assert_string_equal(capture_event_name(capture), "cpu-clock");
	assert_int_equal(capture_rate_hz(capture), 499);
	assert_true(fired(capture) >= before);
	wait_for_samples(capture, 20); /* without having been started */
	assert_int_equal((*capture_maps(capture)->active_window - window) % 2, 0);
	if (capture_walk_maps(capture)) {
		assert_int_equal(
			walk_maps_used_window(capture_walk_maps(capture), &key, &used), -ENOENT);
		assert_true(*capture_maps(capture)->active_window != window);
	}
	start(capture);
	capture_free(capture);
}

static uint64_t fired_and_left_behind(const struct capture *capture)
{
	return capture_left_behind(capture)->fired;
}

/* All that has an account of its own in them. */
static void assert_accounts_close(const struct pilotlight_counters *counters)
{
	uint64_t sum = 0;

	for (int i = 0; i < PILOTLIGHT_PATH_COUNT; i++)
		sum += counters->stored[i];
	for (int i = 0; i < PILOTLIGHT_DROP_BPF_COUNT; i++)
		sum += counters->dropped[i];
	assert_int_equal(counters->fired, sum);
}

static void other_settings_load_anew(void **state)
{
	struct setting *setting = *state;
	struct capture_settings other = settings;
	struct capture *capture = open_capture(setting, &settings);

	start(capture);
	assert_int_equal(fired_and_left_behind(capture), 0);
	wait_for_samples(capture, 20);
	capture_free(capture);
	other.rate_hz = 499;
	capture = open_capture(setting, &other);
	assert_false(capture_is_taken_over(capture));
	assert_int_equal(fired(capture), 0);
	assert_int_equal(capture_forget(capture), 0);
	capture_free(capture);
	capture = open_capture(setting, &other);
	assert_false(capture_is_taken_over(capture));
	capture_free(capture);
}

/*
 * Undrained counts are reported to each engine that opens with other settings, until one has
 * started. They are not reported if the maps are taken over, which still hold them.
 */
static void undrained_samples_of_dropped_maps_are_reported(void **state)
{
	struct setting *setting = *state;
	struct capture_settings other = settings;
	struct capture *capture = open_capture(setting, &settings);
	struct pilotlight_counters told;
	uint64_t before;

	start(capture);
	wait_for_samples(capture, 20);
	before = fired(capture);
	capture_free(capture);
	capture = open_capture(setting, &settings);
	assert_true(capture_is_taken_over(capture));
	assert_int_equal(fired_and_left_behind(capture), 0);
	capture_free(capture);

	other.rate_hz = 499;
	capture = open_capture(setting, &other);
	told = *capture_left_behind(capture);
	assert_true(told.fired >= before);
	assert_true(told.run_ns > 0);
	assert_accounts_close(&told);
	capture_free(capture);
	/* That one was killed at once, and so is one with settings that are others again. */
	capture = open_capture(setting, &other);
	assert_true(capture_is_taken_over(capture));
	assert_memory_equal(capture_left_behind(capture), &told, sizeof(told));
	capture_free(capture);
	other.rate_hz = 199;
	capture = open_capture(setting, &other);
	assert_memory_equal(capture_left_behind(capture), &told, sizeof(told));
	start(capture);
	capture_free(capture);
	capture = open_capture(setting, &other);
	assert_int_equal(fired_and_left_behind(capture), 0);
	wait_for_samples(capture, 20);
	capture_stop(capture);
	before = fired(capture);
	assert_int_equal(capture_forget(capture), 0);
	capture_free(capture);
	capture = open_capture(setting, &other);
	assert_false(capture_is_taken_over(capture));
	assert_int_equal(fired_and_left_behind(capture), before);
	capture_free(capture);
}

struct seen {
	pid_t child;
	unsigned forks, execs, exits;
};

static void see(void *context, const struct sideband_record *record)
{
	struct seen *seen = context;

	if (record->pid != seen->child)
		return;
	seen->forks += record->kind == SIDEBAND_FORK;
	seen->execs += record->kind == SIDEBAND_EXEC;
	seen->exits += record->kind == SIDEBAND_EXIT;
}

static pid_t run_true(void)
{
	pid_t child = fork();

	if (child == 0) {
		(void)execl("/bin/true", "true", NULL);
		_exit(127);
	}
	assert_int_equal(waitpid(child, NULL, 0), child);
	return child;
}

/* The rings still hold what happened while no engine was there. */
static void the_side_band_outlives_an_engine(void **state)
{
	struct setting *setting = *state;
	struct capture *capture = open_capture(setting, &settings);
	struct seen seen = { .child = run_true() };

	assert_int_equal(
		sideband_read(capture_sideband(capture), clock_monotonic_ns(), see, &seen), 0);
	assert_int_equal(seen.forks + seen.execs + seen.exits, 3);
	capture_free(capture);
	seen = (struct seen){ .child = run_true() };
	capture = open_capture(setting, &settings);
	assert_int_equal(
		sideband_read(capture_sideband(capture), clock_monotonic_ns(), see, &seen), 0);
	assert_int_equal(seen.forks, 1);
	assert_int_equal(seen.execs, 1);
	assert_int_equal(seen.exits, 1);
	capture_free(capture);
}

static void without_memory_it_fails(void **state)
{
	struct setting *setting = *state;
	struct capture *capture = NULL;
	bool has_failed = true;

	skip_without_bpf();
	for (size_t n = 0; has_failed; n++) {
		struct fault fault = { 0 };
		int r;

		fail_allocation(n);
		r = place_capture(&setting->place, &with_walks, &capture, &fault);
		has_failed = allocation_failed();
		if (!has_failed) {
			assert_int_equal(r, 0);
			break;
		}
		assert_int_equal(r, -ENOMEM);
		assert_true(strlen(fault.text) > 0);
		assert_null(capture);
	}
	capture_free(capture);
	capture_free(NULL);
}

/* As a kernel before 5.19 answers those without privileges: bpf() is -EPERM. */
static void a_kernel_that_refuses_bpf_is_reported(void **state)
{
	struct setting *setting = *state;
	int fd, status;
	pid_t engine;

	skip_without_bpf();
	fd = call_server(&setting->place);
	engine = fork();
	if (engine == 0) {
		struct fault fault = { 0 };
		struct capture *capture;

		if (sandbox_forbid_query() < 0 ||
			capture_connect(fd, &settings, &capture, &fault) != -EPERM)
			_exit(1);
		_exit(strstr(fault.text, "unprivileged_bpf_disabled") ? 0 : 2);
	}
	assert_int_equal(close(fd), 0);
	assert_int_equal(waitpid(engine, &status, 0), engine);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void the_state_is_known_when_the_broker_is_gone(void **state)
{
	struct setting *setting = *state;
	struct capture *capture = open_capture(setting, &settings);
	struct capture_cost cost;
	struct fault fault = { 0 };

	start(capture);
	wait_for_samples(capture, 20);
	assert_true(capture_expected_samples(capture) > 0);
	stop_server(&setting->place);
	assert_true(capture_expected_samples(capture) > 0);
	capture_read_cost(capture, &cost);
	assert_true(cost.program_runs > 0);
	assert_int_equal(capture_follow_cpus(capture), -EPIPE);
	assert_int_equal(capture_start(capture, &fault), -EPIPE);
	assert_non_null(strstr(fault.text, "broker"));
	assert_string_equal(capture_event_name(capture), "cpu-clock");
	capture_free(capture);
}

#define SERVED(test)                                                    \
	{                                                               \
#test " (served)", test, set_up_server, tear_down, NULL \
	}
#define IN_BOTH(test) { #test, test, set_up_here, tear_down, NULL }, SERVED(test)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_BOTH(sampling_runs_from_start_to_stop),
		IN_BOTH(expected_samples_follow_the_rate),
		IN_BOTH(cycles_drive_it_or_are_refused),
		cmocka_unit_test_setup_teardown(
			too_few_descriptors_change_nothing, set_up_here, tear_down),
		IN_BOTH(settings_beyond_the_bounds_are_refused),
		IN_BOTH(a_forgotten_capture_stops_sampling),
		SERVED(the_next_engine_takes_over),
		SERVED(other_settings_load_anew),
		SERVED(undrained_samples_of_dropped_maps_are_reported),
		SERVED(the_side_band_outlives_an_engine),
		IN_BOTH(without_memory_it_fails),
		SERVED(a_kernel_that_refuses_bpf_is_reported),
		SERVED(the_state_is_known_when_the_broker_is_gone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
