/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Three threads run a server: main calls handle, which calls regex_match, with memcpy inlined. The
 * library's last function has no name, and another one is known by its place only.
 */
#include "query/function_metric.h"

#include "base/array.h"
#include "tests/harness/failing_allocation.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { MAIN, HANDLE, REGEX, NAMELESS, PLACED, LOCATIONS };

static struct profile *profile;
static uint32_t locations[LOCATIONS];

static void name_location(uint32_t location, const char *inner, const char *outer)
{
	struct profile_frame chain[2] = { { 0 } };

	assert_int_equal(profile_add_string(profile, inner, &chain[0].function), 0);
	if (outer)
		assert_int_equal(profile_add_string(profile, outer, &chain[1].function), 0);
	assert_int_equal(profile_name_location(profile, location, chain, outer ? 2 : 1), 0);
}

static uint32_t add_thread(const char *comm, const char *cgroup)
{
	struct profile_thread thread = { .owner = 1001 };
	uint32_t id;

	assert_int_equal(profile_add_string(profile, comm, &thread.comm), 0);
	assert_int_equal(profile_add_string(profile, "/usr/sbin/server", &thread.exe), 0);
	assert_int_equal(profile_add_string(profile, cgroup, &thread.cgroup), 0);
	assert_int_equal(profile_add_thread(profile, &thread, &id), 0);
	return id;
}

/* The stack is main, then these locations; LOCATIONS: none. */
static void add_sample(uint32_t thread, size_t second, size_t third, uint64_t count)
{
	struct profile_sample sample = { .thread = thread, .count = count };

	assert_int_equal(profile_add_node(profile, PROFILE_ROOT, locations[MAIN], &sample.node), 0);
	if (second < LOCATIONS)
		assert_int_equal(
			profile_add_node(profile, sample.node, locations[second], &sample.node), 0);
	if (third < LOCATIONS)
		assert_int_equal(
			profile_add_node(profile, sample.node, locations[third], &sample.node), 0);
	assert_int_equal(profile_add_sample(profile, &sample), 0);
}

static int set_up(void **state)
{
	struct profile_binary binary = { .kind = BINARY_EXECUTABLE };
	uint32_t id, web, batch, box;

	assert_int_equal(profile_new(16 << 20, &profile), 0);
	assert_int_equal(profile_add_binary(profile, &binary, &id), 0);
	for (uint32_t i = 0; i < LOCATIONS; i++)
		assert_int_equal(profile_add_location(profile, id, 16 + i, &locations[i]), 0);
	name_location(locations[MAIN], "main", NULL);
	name_location(locations[HANDLE], "handle(request&)", NULL);
	name_location(locations[REGEX], "memcpy", "regex_match");
	name_location(locations[PLACED], "[liblzma.so.5 function at +0x1234]", NULL);
	web = add_thread("web", "/system.slice/web.service");
	batch = add_thread("batch", "/system.slice/batch.service");
	box = add_thread("web", "/system.slice/"
				"docker-0123456789abcdef0123456789abcdef0123456789abcdef0123456789"
				"abcdef.scope");
	add_sample(web, HANDLE, REGEX, 7);
	add_sample(web, HANDLE, LOCATIONS, 2);
	add_sample(web, LOCATIONS, LOCATIONS, 1);
	add_sample(batch, REGEX, NAMELESS, 30);
	add_sample(batch, NAMELESS, LOCATIONS, 4);
	add_sample(batch, PLACED, LOCATIONS, 3);
	add_sample(box, REGEX, LOCATIONS, 5);
	return 0;
}

static int tear_down(void **state)
{
	profile_free(profile);
	return 0;
}

/* What to count, and what it must be: whole, unnamed, and sums as "label=samples ". */
static const struct {
	const char *select[4]; /* name and value */
	const char *pattern;
	bool is_self;
	const char *by;
	uint64_t selected, unnamed;
	const char *sums;
} cases[] = {
	{ { 0 }, NULL, false, "none", 52, 0, "=52 " },
	{ { 0 }, "regex", false, "none", 52, 7, "=42 " },
	{ { 0 }, "^memcpy$", true, "none", 52, 37, "=12 " },
	{ { 0 }, "^memcpy$", false, "none", 52, 7, "=42 " },
	/* Only the innermost function of an inlined chain is where the time is spent. */
	{ { 0 }, "regex", true, "none", 52, 37, "" },
	{ { 0 }, "^main$", false, "none", 52, 0, "=52 " },
	{ { 0 }, "^main$", true, "none", 52, 37, "=1 " },
	{ { "unit", "web" }, "regex", false, "none", 10, 0, "=7 " },
	{ { "unit", "web", "unit", "batch.service" }, "regex", false, "unit", 47, 7,
		"batch.service=30 web.service=7 " },
	{ { 0 }, "regex", false, "comm", 52, 7, "batch=30 web=12 " },
	{ { "exe", "server", "comm", "w*" }, "regex|handle", false, "container", 15, 0,
		"=9 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef=5 " },
	{ { "user", "1001" }, "regex", false, "none", 0, 0, "" },
	{ { "user", "1000" }, "function at", false, "none", 52, 37, "" },
};

static void stacks_are_counted_by_names(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(function_metric_freep) struct function_metric *metric = NULL;
		struct function_metric_result result;
		char sums[512] = "";

		assert_int_equal(function_metric_new(&metric), 0);
		for (size_t j = 0; j < 4 && cases[i].select[j]; j += 2)
			assert_int_equal(function_metric_select(metric, cases[i].select[j],
						 cases[i].select[j + 1], NULL),
				0);
		if (cases[i].pattern)
			assert_int_equal(
				function_metric_set_pattern(metric, cases[i].pattern, NULL), 0);
		function_metric_set_self(metric, cases[i].is_self);
		function_metric_set_group(metric, function_metric_group_find(cases[i].by));
		assert_int_equal(function_metric_run(metric, profile, &result), 0);
		for (size_t j = 0; j < result.count; j++)
			(void)sprintf(sums + strlen(sums), "%s=%u ", result.sums[j].label,
				(unsigned)result.sums[j].samples);
		if (result.selected != cases[i].selected || result.unnamed != cases[i].unnamed ||
			strcmp(sums, cases[i].sums) != 0)
			fail_msg("case %zu: %u selected, %u unnamed, %s", i,
				(unsigned)result.selected, (unsigned)result.unnamed, sums);
		function_metric_result_done(&result);
	}
}

static void what_cannot_be_counted_is_refused(void **state)
{
	static const char *const names[] = { "pid", "tid", "build-id", "last", "from", "event",
		"windows", "shoe-size" };
	_cleanup_(function_metric_freep) struct function_metric *metric = NULL;
	struct fault fault = { 0 };

	assert_int_equal(function_metric_new(&metric), 0);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		assert_int_equal(function_metric_select(metric, names[i], "1", NULL), -EINVAL);
	assert_int_equal(function_metric_select(metric, "pid", "1", &fault), -EINVAL);
	assert_non_null(strstr(fault.text, "\"pid\" does not select here: use unit"));
	assert_int_equal(function_metric_select(metric, "unit", "", NULL), -EINVAL);
	assert_int_equal(function_metric_set_pattern(metric, "a(", NULL), -EINVAL);
	assert_int_equal(function_metric_group_find("colour"), FUNCTION_METRIC_GROUPS);
	assert_string_equal(function_metric_group_name(FUNCTION_METRIC_BY_UNIT), "unit");
}

static void patterns_are_checked_with_their_position(void **state)
{
	static const struct {
		const char *pattern, *says;
	} bad[] = {
		{ "regex(", "at character 6: Unmatched (" },
		{ "a[bc", "at character 2: Unmatched [" },
		{ "*a", "at character 1: Invalid preceding" },
		{ "ab\\", "at character 3: Trailing backslash" },
		{ "x{3,1}", "at character 2: Invalid content" },
		{ "(a|b)c[", "at character 7: " },
		{ "(a)b\\1", "at character 5: back-references are not supported" },
		{ "", "a pattern has 1 to 256 bytes" },
	};
	_cleanup_(function_metric_freep) struct function_metric *metric = NULL;
	char long_pattern[300];

	assert_int_equal(function_metric_new(&metric), 0);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct fault fault = { 0 };

		assert_int_equal(
			function_metric_set_pattern(metric, bad[i].pattern, &fault), -EINVAL);
		if (strncmp(fault.text, bad[i].says, strlen(bad[i].says)) != 0)
			fail_msg("%s: %s", bad[i].pattern, fault.text);
	}
	memset(long_pattern, 'a', sizeof(long_pattern));
	long_pattern[256] = '\0';
	assert_int_equal(function_metric_set_pattern(metric, long_pattern, NULL), 0);
	long_pattern[256] = 'a';
	long_pattern[257] = '\0';
	assert_int_equal(function_metric_set_pattern(metric, long_pattern, NULL), -EINVAL);
	/* The second backslash is the one that counts. */
	assert_int_equal(function_metric_set_pattern(metric, "a\\\\1", NULL), 0);
}

/* The longest label is cut between two characters. */
static void long_labels_are_cut(void **state)
{
	_cleanup_(function_metric_freep) struct function_metric *metric = NULL;
	struct function_metric_result result;
	char comm[400] = "x", *at = comm + 1;

	for (int i = 0; i < 100; i++, at += 2)
		(void)strcpy(at, "ü");
	add_sample(add_thread(comm, "/a"), LOCATIONS, LOCATIONS, 1);
	assert_int_equal(function_metric_new(&metric), 0);
	assert_int_equal(function_metric_select(metric, "cgroup", "/a", NULL), 0);
	function_metric_set_group(metric, FUNCTION_METRIC_BY_COMM);
	assert_int_equal(function_metric_run(metric, profile, &result), 0);
	assert_int_equal(result.count, 1);
	assert_int_equal(strlen(result.sums[0].label), 127);
	assert_memory_equal(result.sums[0].label, comm, 127);
	function_metric_result_done(&result);
}

static int make_and_run(struct function_metric_result *result)
{
	_cleanup_(function_metric_freep) struct function_metric *metric = NULL;
	int r = function_metric_new(&metric);

	if (r == 0)
		r = function_metric_select(metric, "exe", "server", NULL);
	if (r == 0)
		r = function_metric_set_pattern(metric, "regex", NULL);
	if (r < 0)
		return r;
	function_metric_set_group(metric, FUNCTION_METRIC_BY_UNIT);
	return function_metric_run(metric, profile, result);
}

static void failing_allocations_are_reported(void **state)
{
	struct function_metric_result result;

	assert_true(FAIL_EACH_ALLOCATION(make_and_run(&result), -ENOMEM, true, 0) >= 9);
	function_metric_result_done(&result);
}

#define WITH_PROFILE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_PROFILE(stacks_are_counted_by_names),
		WITH_PROFILE(what_cannot_be_counted_is_refused),
		WITH_PROFILE(patterns_are_checked_with_their_position),
		WITH_PROFILE(long_labels_are_cut),
		WITH_PROFILE(failing_allocations_are_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
