/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/array.h"
#include "base/clock.h"
#include "query/selection.h"
#include "tests/harness/failing_allocation.h"
#include "tests/query/selection_fixture.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#define NOW	   SELECTION_NOW
#define MINUTES(n) ((n)*60ULL * NSEC_PER_SEC)

static int use_utc(void **state)
{
	return setenv("TZ", "UTC", 1);
}

static void expect_times(const char *const *pairs, uint64_t start_ns, uint64_t end_ns)
{
	struct selection *selection = make_selection(pairs);
	struct store_selection asked;

	selection_store(selection, &asked);
	if (asked.start_ns != start_ns || asked.end_ns != end_ns)
		fail_msg("%s", selection_text(selection));
	selection_free(selection);
}

#define EXPECT_TIMES(start, end, ...) \
	expect_times((const char *const[]){ __VA_ARGS__, NULL }, (start), (end))

static void times_are_read(void **state)
{
	const uint64_t midnight = NOW - MINUTES(12 * 60), day = MINUTES(24 * 60);

	EXPECT_TIMES(NOW - MINUTES(10), NOW, NULL);
	EXPECT_TIMES(NOW - MINUTES(90), NOW, "last", "1h 30min");
	EXPECT_TIMES(0, NOW, "last", "100y");
	EXPECT_TIMES(NOW - MINUTES(7), NOW - MINUTES(2), "last", "5min", "to", "2min ago");
	EXPECT_TIMES(0, midnight, "to", "today");
	EXPECT_TIMES(midnight - day, NOW, "from", "yesterday");
	EXPECT_TIMES(midnight - day, midnight, "from", "yesterday", "to", "today");
	EXPECT_TIMES(midnight - day + MINUTES(190), midnight - day + MINUTES(195), "from",
		"2026-11-19 03:10", "to", "03:15");
	EXPECT_TIMES(midnight - MINUTES(10), midnight + MINUTES(10), "from", "yesterday 23:50",
		"to", "00:10");
	EXPECT_TIMES(
		midnight - day, midnight - day + MINUTES(20), "to", "+20min", "from", "yesterday");
	EXPECT_TIMES(midnight, NOW, "from", "today", "to", "now");
	EXPECT_TIMES(1795170000123456789ULL, 1795170030123456789ULL, "from",
		"@1795170000.123456789", "to", "@1795170030.123456789");
}

/* A day of 23 hours and one of 25, in Berlin. */
static void the_end_is_the_next_time_of_day(void **state)
{
	const uint64_t spring = 1774737000ULL * NSEC_PER_SEC; /* 2026-03-28 22:30 UTC */
	const uint64_t autumn = 1792879800ULL * NSEC_PER_SEC; /* 2026-10-24 22:10 UTC */

	assert_int_equal(setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1), 0);
	tzset();
	EXPECT_TIMES(spring, spring + MINUTES(45), "from", "2026-03-28 23:30", "to", "00:15");
	EXPECT_TIMES(
		spring, spring + MINUTES(23 * 60 - 10), "from", "2026-03-28 23:30", "to", "23:20");
	EXPECT_TIMES(
		autumn, autumn + MINUTES(25 * 60 - 5), "from", "2026-10-25 00:10", "to", "00:05");
	assert_int_equal(setenv("TZ", "UTC", 1), 0);
	tzset();
}

static void invalid_parameters_are_reported(void **state)
{
	static const struct {
		const char *name, *value, *says;
		int error;
	} cases[] = {
		{ "units", "a", "\"units\"", -EINVAL },
		{ "unit", "", "unit has no value", -EINVAL },
		{ "pid", "12x", "pid is \"12x\"", -EINVAL },
		{ "pid", "-1", "a number", -EINVAL },
		{ "pid", "0", "a number", -EINVAL },
		{ "user", "alice", "user is \"alice\", but it takes a user's number", -EINVAL },
		{ "user", "-1", "a user's number", -EINVAL },
		{ "user", "*", "a user's number", -EINVAL },
		{ "user", "4294967295", "a user's number", -EINVAL },
		{ "user", "99999999999", "a user's number", -EINVAL },
		{ "tid", "99999999999", "a number", -EINVAL },
		{ "tid", "18446744073709551617", "a number", -EINVAL },
		{ "trace", "0af7651916cd43dd", "32 hexadecimal digits", -EINVAL },
		{ "span", "0000000000000000", "16 hexadecimal digits", -EINVAL },
		{ "build-id", "abcg", "hexadecimal", -EINVAL },
		{ "build-id", "00112233445566778899aabbccddeeff001122334", "40 at most", -EINVAL },
	};
	char longest[SELECTION_VALUE_BYTES_MAX + 2];
	struct selection *selection;

	assert_int_equal(selection_new(&selection), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct fault fault = { 0 };

		assert_int_equal(selection_add(selection, cases[i].name, cases[i].value, &fault),
			cases[i].error);
		assert_non_null(strstr(fault.text, cases[i].says));
	}
	memset(longest, 'a', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	assert_int_equal(selection_add(selection, "exe", longest, NULL), -E2BIG);
	longest[sizeof(longest) - 2] = '\0';
	assert_int_equal(selection_add(selection, "exe", longest, NULL), 0);
	for (size_t i = 1; i < SELECTION_VALUES_MAX; i++)
		assert_int_equal(selection_add(selection, "pid", "7", NULL), 0);
	assert_int_equal(selection_add(selection, "pid", "7", NULL), -E2BIG);
	selection_free(selection);
}

static void invalid_times_are_reported(void **state)
{
	static const struct {
		const char *pairs[5];
		const char *says;
	} cases[] = {
		{ { "last", "10min", "from", "today" }, "last and from" },
		{ { "last", "ten" }, "last: \"ten\"" },
		{ { "from", "noon" }, "from: \"noon\"" },
		{ { "to", "03:99" }, "to: \"03:99\"" },
		{ { "from", "today", "to", "yesterday" }, "not after" },
		{ { "from", "tomorrow" }, "in the future" },
		{ { "from", "06:40", "to", "06:35" }, "to: \"06:35\" is before from" },
		{ { "last", "0" }, "not after" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *const *pair = cases[i].pairs;
		struct selection *selection;
		struct fault fault = { 0 };

		assert_int_equal(selection_new(&selection), 0);
		for (; pair[0]; pair += 2)
			assert_int_equal(selection_add(selection, pair[0], pair[1], NULL), 0);
		assert_int_equal(selection_finish(selection, NOW, &fault), -EINVAL);
		if (!strstr(fault.text, cases[i].says))
			fail_msg("%s", fault.text);
		selection_free(selection);
	}
}

static void times_and_events_are_given_once(void **state)
{
	static const char *const names[] = { "last", "from", "to", "event" };
	struct selection *selection;

	assert_int_equal(selection_new(&selection), 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct fault fault = { 0 };

		assert_int_equal(selection_add(selection, names[i], "1min", NULL), 0);
		assert_int_equal(selection_add(selection, names[i], "2min", &fault), -EINVAL);
		assert_non_null(strstr(fault.text, "twice"));
	}
	selection_free(selection);
}

static void parameters_are_known(void **state)
{
	static const char *const names[] = { "last", "from", "to", "event", "pid", "tid", "user",
		"comm", "thread", "exe", "unit", "slice", "cgroup", "container", "pod",
		"build-id" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		assert_true(selection_has_parameter(names[i]));
		assert_int_equal(selection_is_time(names[i]), i < 3);
	}
	assert_false(selection_has_parameter("format"));
	assert_false(selection_has_parameter(""));
	assert_false(selection_is_time("against.last"));
}

static void threads_are_merged_unless_asked_for(void **state)
{
	static const struct {
		const char *pairs[3];
		bool merges, filters;
	} cases[] = {
		{ { NULL }, true, false },
		{ { "unit", "a" }, true, true },
		{ { "user", "1" }, true, true },
		{ { "pid", "1" }, false, true },
		{ { "tid", "1" }, false, true },
		{ { "event", "cycles" }, true, false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct selection *selection = make_selection(cases[i].pairs);
		struct store_selection asked;

		selection_store(selection, &asked);
		assert_int_equal(asked.merges_threads, cases[i].merges);
		assert_int_equal(asked.wants_processes, !cases[i].merges);
		assert_int_equal(asked.wants_thread != NULL, cases[i].filters);
		assert_int_equal(selection_has_filter(selection), cases[i].filters);
		assert_null(asked.wants_binary);
		if (strcmp(cases[i].pairs[0] ? cases[i].pairs[0] : "", "event") == 0)
			assert_string_equal(asked.event, "cycles");
		else
			assert_null(asked.event);
		selection_free(selection);
	}
}

static void windows_may_be_chosen_by_their_end(void **state)
{
	static const char *const values[] = { NULL, "overlapping", "ended" };

	for (size_t i = 0; i < 3; i++) {
		struct selection *selection =
			MAKE("last", "1h", i > 0 ? "windows" : NULL, values[i]);
		struct store_selection asked;

		selection_store(selection, &asked);
		assert_int_equal(asked.by_end, i == 2);
		assert_false(selection_has_filter(selection));
		selection_free(selection);
	}
}

/* By a word, or by a fraction of a second in a time that a person wrote. */
static void parts_of_a_second_are_exact(void **state)
{
	static const struct {
		const char *pairs[7];
		bool is_exact;
	} cases[] = {
		{ { "from", "11:12:07", "to", "11:12:08" }, false },
		{ { "from", "11:12:07.250", "to", "11:12:08" }, true },
		{ { "from", "11:12:07", "to", "11:12:07.5" }, true },
		{ { "from", "11:12:07.250", "to", "11:12:08", "windows", "overlapping" }, false },
		{ { "from", "11:12:07.250", "to", "11:12:08", "windows", "ended" }, false },
		{ { "last", "1min", "windows", "exact" }, true },
		{ { "from", "@1763600000.25" }, false },
		{ { "from", "-1.5h" }, false },
	};

	assert_false(selection_has_fraction(NULL));
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct selection *selection = make_selection(cases[i].pairs);
		struct store_selection asked;

		selection_store(selection, &asked);
		assert_int_equal(asked.is_exact, cases[i].is_exact);
		selection_free(selection);
	}
}

static void spans_are_selected(void **state)
{
	static const char *const pairs[7] = { "trace", "0AF7651916cd43dd8448eb211c80319c", "span",
		"b7ad6b7169203331" };
	struct selection *selection = make_selection(pairs);
	struct store_selection asked;
	struct fault fault = { 0 };

	selection_store(selection, &asked);
	assert_true(selection_has_filter(selection));
	assert_true(asked.spans && asked.spans->has_trace && asked.spans->has_span);
	assert_int_equal(asked.spans->ids.trace_id[0], 0x0a);
	assert_int_equal(asked.spans->ids.span_id[7], 0x31);
	assert_null(asked.wants_thread);
	selection_free(selection);
	selection = make_selection((const char *const[7]){ NULL });
	selection_store(selection, &asked);
	assert_null(asked.spans);
	selection_free(selection);
	/* Whole windows are selected. */
	assert_int_equal(selection_new(&selection), 0);
	assert_int_equal(selection_add(selection, pairs[0], pairs[1], NULL), 0);
	assert_int_equal(selection_add(selection, "windows", "exact", NULL), 0);
	assert_int_equal(selection_finish(selection, NOW, &fault), -EINVAL);
	assert_non_null(strstr(fault.text, "exact"));
	selection_free(selection);
}

static void a_selection_is_described(void **state)
{
	static const struct {
		const char *pairs[9];
		const char *text;
	} cases[] = {
		{ { NULL }, "2026-11-20 11:50:00 to 12:00:00" },
		{ { "from", "yesterday", "unit", "nginx", "pid", "1", "unit", "b.scope" },
			"2026-11-19 00:00:00 to 2026-11-20 12:00:00, pid 1, unit nginx.service or "
			"b.scope" },
		{ { "to", "now", "comm", "12345678901234\xc3\xa9" },
			"until 2026-11-20 12:00:00, comm 12345678901234\xef\xbf\xbd" },
		{ { "from", "11:12:07.250", "to", "11:12:08", "windows", "exact" },
			"2026-11-20 11:12:07.250 to 11:12:08.000" },
		{ { "from", "11:12:07", "windows", "ended" },
			"2026-11-20 11:12:07 to 12:00:00, windows ended" },
		{ { "to", "now", "event", "cycles" }, "until 2026-11-20 12:00:00, event cycles" },
		{ { "last", "1min", "comm", "a\nb\x1b" },
			"2026-11-20 11:59:00 to 12:00:00, comm a\xef\xbf\xbd"
			"b\xef\xbf\xbd" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct selection *selection = make_selection(cases[i].pairs);

		assert_string_equal(selection_text(selection), cases[i].text);
		selection_free(selection);
	}
}

static int make_all(struct selection **ret_selection)
{
	static const char *const pairs[][2] = { { "last", "1h" }, { "unit", "a" }, { "slice", "b" },
		{ "cgroup", "c/" }, { "pid", "1" }, { "build-id", "AB" }, { "comm", "d" } };
	struct selection *selection;
	int r = selection_new(&selection);

	if (r < 0)
		return r;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]) && r == 0; i++)
		r = selection_add(selection, pairs[i][0], pairs[i][1], NULL);
	if (r == 0)
		r = selection_finish(selection, NOW, NULL);
	if (r < 0)
		selection_free(selection);
	else
		*ret_selection = selection;
	return r;
}

static void every_allocation_may_fail(void **state)
{
	struct selection *selection = NULL;

	assert_int_equal(FAIL_EACH_ALLOCATION(make_all(&selection), -ENOMEM, true, 0), 8);
	selection_free(selection);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times_are_read),
		cmocka_unit_test(the_end_is_the_next_time_of_day),
		cmocka_unit_test(invalid_parameters_are_reported),
		cmocka_unit_test(invalid_times_are_reported),
		cmocka_unit_test(times_and_events_are_given_once),
		cmocka_unit_test(parameters_are_known),
		cmocka_unit_test(threads_are_merged_unless_asked_for),
		cmocka_unit_test(windows_may_be_chosen_by_their_end),
		cmocka_unit_test(parts_of_a_second_are_exact),
		cmocka_unit_test(spans_are_selected),
		cmocka_unit_test(a_selection_is_described),
		cmocka_unit_test(every_allocation_may_fail),
	};

	return cmocka_run_group_tests(tests, use_utc, NULL);
}
