/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/event_name.h"

#include "base/array.h"
#include "capture/counted_event.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static struct pilotlight_counted_event event;
static uint64_t period;
static char pmu[] = "/tmp/pilotlight-pmu-XXXXXX";

static int find(const char *name)
{
	struct fault fault = { 0 };
	int r = event_name_find(name, pmu, &event, &period, &fault);

	assert_int_equal(r < 0, fault.text[0] != '\0');
	if (r == 0)
		assert_true(counted_event_is_valid(&event));
	return r;
}

/* As `perf stat -vv` of Linux 6.1 shows them. */
static void names_mean_what_they_mean_to_perf(void **state)
{
	static const struct {
		const char *name;
		uint32_t type;
		uint64_t config;
		const char *shown; /* NULL: the same */
	} cases[] = {
		{ "cycles", PERF_TYPE_HARDWARE, 0, "cpu-cycles" },
		{ "cpu-cycles", PERF_TYPE_HARDWARE, 0, NULL },
		{ "instructions", PERF_TYPE_HARDWARE, 1, NULL },
		{ "cache-references", PERF_TYPE_HARDWARE, 2, NULL },
		{ "cache-misses", PERF_TYPE_HARDWARE, 3, NULL },
		{ "branches", PERF_TYPE_HARDWARE, 4, NULL },
		{ "branch-instructions", PERF_TYPE_HARDWARE, 4, "branches" },
		{ "branch-misses", PERF_TYPE_HARDWARE, 5, NULL },
		{ "bus-cycles", PERF_TYPE_HARDWARE, 6, NULL },
		{ "stalled-cycles-frontend", PERF_TYPE_HARDWARE, 7, NULL },
		{ "idle-cycles-backend", PERF_TYPE_HARDWARE, 8, "stalled-cycles-backend" },
		{ "ref-cycles", PERF_TYPE_HARDWARE, 9, NULL },
		{ "page-faults", PERF_TYPE_SOFTWARE, 2, NULL },
		{ "context-switches", PERF_TYPE_SOFTWARE, 3, NULL },
		{ "cs", PERF_TYPE_SOFTWARE, 3, "context-switches" },
		{ "migrations", PERF_TYPE_SOFTWARE, 4, "cpu-migrations" },
		{ "minor-faults", PERF_TYPE_SOFTWARE, 5, NULL },
		{ "major-faults", PERF_TYPE_SOFTWARE, 6, NULL },
		{ "cgroup-switches", PERF_TYPE_SOFTWARE, 11, NULL },
		{ "L1-dcache-loads", PERF_TYPE_HW_CACHE, 0, NULL },
		{ "L1-dcache-load-misses", PERF_TYPE_HW_CACHE, 0x10000, NULL },
		{ "L1-icache-prefetches", PERF_TYPE_HW_CACHE, 0x201, NULL },
		{ "LLC-load-misses", PERF_TYPE_HW_CACHE, 0x10002, NULL },
		{ "LLC-stores", PERF_TYPE_HW_CACHE, 0x102, NULL },
		{ "dTLB-store-misses", PERF_TYPE_HW_CACHE, 0x10103, NULL },
		{ "iTLB-loads", PERF_TYPE_HW_CACHE, 4, NULL },
		{ "branch-loads", PERF_TYPE_HW_CACHE, 5, NULL },
		{ "node-prefetch-misses", PERF_TYPE_HW_CACHE, 0x10206, NULL },
		{ "r1", PERF_TYPE_RAW, 1, NULL },
		{ "r01c4", PERF_TYPE_RAW, 0x1c4, NULL },
		{ "rFFffFFffFFffFFff", PERF_TYPE_RAW, UINT64_MAX, NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(find(cases[i].name), 0);
		assert_int_equal(event.kind, PILOTLIGHT_COUNTED_PERF);
		assert_int_equal(event.type, cases[i].type);
		assert_int_equal(event.config, cases[i].config);
		assert_string_equal(event.name, cases[i].shown ? cases[i].shown : cases[i].name);
		assert_true(period > 0);
	}
}

static void modifiers_choose_modes_and_precision(void **state)
{
	assert_int_equal(find("instructions:u"), 0);
	assert_true(event.excludes_kernel && !event.excludes_user && !event.precise_ip);
	assert_string_equal(event.name, "instructions:u");
	assert_int_equal(find("cycles:k"), 0);
	assert_true(event.excludes_user && !event.excludes_kernel);
	assert_string_equal(event.name, "cpu-cycles:k");
	assert_int_equal(find("r01c4:uk"), 0);
	assert_true(!event.excludes_user && !event.excludes_kernel);
	assert_string_equal(event.name, "r01c4:uk");
	assert_int_equal(find("LLC-loads:ppp"), 0);
	assert_int_equal(event.precise_ip, 3);
	assert_int_equal(find("cs:u"), 0);
	assert_string_equal(event.name, "context-switches:u");
}

static void tracepoints_have_a_subsystem(void **state)
{
	assert_int_equal(find("sched:sched_process_exec"), 0);
	assert_int_equal(event.kind, PILOTLIGHT_COUNTED_TRACEPOINT);
	assert_string_equal(event.name, "sched:sched_process_exec");
	assert_int_equal(period, 1);
}

static void other_names_are_refused(void **state)
{
	static const char *const wrong[] = { "", "cycle", "cyclesx", "cpu-clock", "task-clock",
		"dummy", "bpf-output", "r", "rg", "r00000000000000000",
		"instructions:", "cycles:pppp", "LLC", "LLC-", "LLC-load", "L2-loads", ":",
		"sched:", ":x", "a:b:c", "a/b:c", "../x:y", "a b:c", "\xc3\xa4:b", "events/x",
		"unknown", "..",
		"a_name_of_more_than_sixty_three_characters_is_refused_in_any_case:x" };

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		assert_int_equal(find(wrong[i]), -EINVAL);
}

static void put(const char *name, const char *text)
{
	char path[256];
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s/%s", pmu, name);
	file = fopen(path, "we");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static void events_of_the_pmu_are_read(void **state)
{
	char path[256];

	assert_non_null(mkdtemp(pmu));
	(void)snprintf(path, sizeof(path), "%s/events", pmu);
	assert_int_equal(mkdir(path, 0700), 0);
	(void)snprintf(path, sizeof(path), "%s/format", pmu);
	assert_int_equal(mkdir(path, 0700), 0);
	put("type", "4\n");
	put("format/event", "config:0-7,32-35\n");
	put("format/umask", "config:8-15\n");
	put("format/edge", "config:18\n");
	put("format/ldlat", "config1:0-15\n");
	put("format/strange", "config9:0-15\n");
	put("events/mem-loads", "event=0xcd,umask=0x1,ldlat=3\n");
	put("events/far", "event=0x1cd,edge\n");
	put("events/big", "umask=0x100\n");
	put("events/strange", "strange=1\n");
	put("events/nameless", "other=1\n");
	put("events/empty", "\n");
	assert_int_equal(find("mem-loads"), 0);
	assert_int_equal(event.type, PERF_TYPE_RAW);
	assert_int_equal(event.config, 0x1cd);
	assert_int_equal(event.config1, 3);
	assert_int_equal(find("far:u"), 0);
	assert_int_equal(event.config, 0x1000400cdULL);
	assert_string_equal(event.name, "far:u");
	assert_int_equal(find("big"), -EINVAL);
	assert_int_equal(find("strange"), -EINVAL);
	assert_int_equal(find("nameless"), -EINVAL);
	put("type", "9\n");
	assert_int_equal(find("mem-loads"), -EINVAL);
}

static int remove_pmu(void **state)
{
	char command[256];

	(void)snprintf(command, sizeof(command), "rm -rf '%s'", pmu);
	return system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_mean_what_they_mean_to_perf),
		cmocka_unit_test(modifiers_choose_modes_and_precision),
		cmocka_unit_test(tracepoints_have_a_subsystem),
		cmocka_unit_test(other_names_are_refused),
		cmocka_unit_test(events_of_the_pmu_are_read),
	};

	return cmocka_run_group_tests(tests, NULL, remove_pmu);
}
