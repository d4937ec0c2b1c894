/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/counted_event.h"

#include "base/array.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

static const struct pilotlight_counted_event misses = {
	.name = "cache-misses",
	.kind = PILOTLIGHT_COUNTED_PERF,
	.type = PERF_TYPE_HARDWARE,
	.config = PERF_COUNT_HW_CACHE_MISSES,
};
static const struct pilotlight_counted_event exec = {
	.name = "sched:sched_process_exec",
	.kind = PILOTLIGHT_COUNTED_TRACEPOINT,
};
static const struct pilotlight_counted_event tick = {
	.name = "usdt:counted:pilotlight:tick",
	.kind = PILOTLIGHT_COUNTED_PROBE,
};
static const struct pilotlight_counted_event none;

static void events_that_count_are_valid(void **state)
{
	struct pilotlight_counted_event event = misses;

	assert_true(counted_event_is_valid(&none));
	assert_true(counted_event_is_valid(&tick));
	assert_true(counted_event_is_valid(&exec));
	assert_true(counted_event_is_valid(&misses));
	event.excludes_kernel = 1;
	event.precise_ip = 3;
	assert_true(counted_event_is_valid(&event));
	event.type = PERF_TYPE_RAW;
	event.config = event.config1 = UINT64_MAX;
	assert_true(counted_event_is_valid(&event));
}

/* A client could else put probes and breakpoints into the kernel, or read what others do. */
static void other_types_are_not(void **state)
{
	static const uint32_t types[] = { PERF_TYPE_TRACEPOINT, PERF_TYPE_BREAKPOINT, PERF_TYPE_MAX,
		PERF_TYPE_MAX + 1, UINT32_MAX };
	static const uint64_t software[] = { PERF_COUNT_SW_CPU_CLOCK, PERF_COUNT_SW_TASK_CLOCK,
		PERF_COUNT_SW_DUMMY, PERF_COUNT_SW_BPF_OUTPUT, PERF_COUNT_SW_MAX, UINT64_MAX };

	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		struct pilotlight_counted_event event = misses;

		event.type = types[i];
		assert_false(counted_event_is_valid(&event));
	}
	for (size_t i = 0; i < ARRAY_SIZE(software); i++) {
		struct pilotlight_counted_event event = misses;

		event.type = PERF_TYPE_SOFTWARE;
		event.config = software[i];
		assert_false(counted_event_is_valid(&event));
	}
}

static void values_out_of_range_are_not(void **state)
{
	struct pilotlight_counted_event events[11];

	for (size_t i = 0; i < ARRAY_SIZE(events); i++)
		events[i] = i < 4 ? misses : i < 9 ? exec : tick;
	events[0].excludes_user = 2;
	events[1].excludes_kernel = 2;
	events[2].precise_ip = 4;
	events[3].kind = PILOTLIGHT_COUNTED_KINDS;
	events[4].config = 1;
	events[5].type = PERF_TYPE_TRACEPOINT;
	events[6].excludes_user = 1;
	events[7].kind = PILOTLIGHT_COUNTED_NONE;
	events[8].kind = PILOTLIGHT_COUNTED_PERF + 200;
	events[9].config = 4096;
	events[10].name[0] = '/';
	for (size_t i = 0; i < ARRAY_SIZE(events); i++)
		assert_false(counted_event_is_valid(&events[i]));
}

static void names_are_checked(void **state)
{
	static const char *const wrong[] = { "", "a b", "a/b", "a\"b", "a\\b", "\x7f", "\xc3\xa4",
		"a\nb" };
	static const char *const not_tracepoints[] = { "sched", "sched:", ":exec", "a:b:c", "a.b:c",
		"..:x", "a-b:c" };
	struct pilotlight_counted_event event = misses;

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		memset(event.name, 0, sizeof(event.name));
		(void)strcpy(event.name, wrong[i]);
		assert_false(counted_event_is_valid(&event));
	}
	event = misses;
	event.name[sizeof(event.name) - 1] = 'x';
	assert_false(counted_event_is_valid(&event));
	memset(event.name, 'x', sizeof(event.name));
	assert_false(counted_event_is_valid(&event));
	event = exec;
	for (size_t i = 0; i < ARRAY_SIZE(not_tracepoints); i++) {
		memset(event.name, 0, sizeof(event.name));
		(void)strcpy(event.name, not_tracepoints[i]);
		assert_false(counted_event_is_valid(&event));
	}
}

static void tracepoints_at_locks_are_known(void **state)
{
	static const char *const others[] = { "sched:lock", "locks:x", "block:lock" };
	struct pilotlight_counted_event event = exec;

	assert_false(counted_event_is_of_locks(&none));
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		(void)snprintf(event.name, sizeof(event.name), "%s", others[i]);
		assert_false(counted_event_is_of_locks(&event));
	}
	(void)snprintf(event.name, sizeof(event.name), "lock:contention_begin");
	assert_true(counted_event_is_of_locks(&event));
	(void)snprintf(event.name, sizeof(event.name), "lock:contention_end");
	assert_true(counted_event_is_of_locks(&event));
	event.kind = PILOTLIGHT_COUNTED_PROBE;
	assert_false(counted_event_is_of_locks(&event));
}

static void attributes_are_those_of_perf(void **state)
{
	struct pilotlight_counted_event event = misses;
	struct perf_event_attr attr;

	event.config1 = 7;
	assert_int_equal(counted_event_describe(&event, 99, "/nowhere", &attr), 0);
	assert_int_equal(attr.type, PERF_TYPE_HARDWARE);
	assert_int_equal(attr.config, PERF_COUNT_HW_CACHE_MISSES);
	assert_int_equal(attr.config1, 7);
	assert_int_equal(attr.sample_period, 99);
	assert_true(attr.exclude_guest && attr.disabled && !attr.freq);
	assert_false(attr.exclude_user || attr.exclude_kernel || attr.exclude_hv);
	assert_int_equal(attr.sample_type, 0);
	event.excludes_kernel = 1;
	event.precise_ip = 2;
	assert_int_equal(counted_event_describe(&event, 99, "/nowhere", &attr), 0);
	assert_true(attr.exclude_kernel && attr.exclude_hv && !attr.exclude_user);
	assert_int_equal(attr.precise_ip, 2);
	assert_int_equal(attr.sample_type, PERF_SAMPLE_CALLCHAIN);
}

static void the_kernel_numbers_tracepoints(void **state)
{
	char folder[] = "/tmp/pilotlight-tracing-XXXXXX", path[256];
	struct perf_event_attr attr = { .config = 77 };
	FILE *file;

	assert_non_null(mkdtemp(folder));
	assert_int_equal(counted_event_describe(&exec, 1, folder, &attr), -ENOENT);
	assert_int_equal(attr.config, 77);
	(void)snprintf(path, sizeof(path), "mkdir -p %s/events/sched/sched_process_exec", folder);
	assert_int_equal(system(path), 0);
	(void)snprintf(path, sizeof(path), "%s/events/sched/sched_process_exec/id", folder);
	file = fopen(path, "we");
	assert_non_null(file);
	(void)fputs("x\n", file);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(counted_event_describe(&exec, 1, folder, &attr), -EBADMSG);
	file = fopen(path, "we");
	assert_non_null(file);
	(void)fputs("312\n", file);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(counted_event_describe(&exec, 5, folder, &attr), 0);
	assert_int_equal(attr.type, PERF_TYPE_TRACEPOINT);
	assert_int_equal(attr.config, 312);
	assert_int_equal(attr.sample_period, 1);
	(void)snprintf(path, sizeof(path), "rm -rf %s", folder);
	assert_int_equal(system(path), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_that_count_are_valid),
		cmocka_unit_test(other_types_are_not),
		cmocka_unit_test(values_out_of_range_are_not),
		cmocka_unit_test(names_are_checked),
		cmocka_unit_test(tracepoints_at_locks_are_known),
		cmocka_unit_test(attributes_are_those_of_perf),
		cmocka_unit_test(the_kernel_numbers_tracepoints),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
