/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/time_text.h"

#include "base/array.h"
#include "base/cleanup.h"

#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#define S  UINT64_C(1000000000)
#define MS UINT64_C(1000000)

/* Central Europe without the help of a zone database. */
#define EUROPE "CET-1CEST,M3.5.0,M10.5.0/3"

/* Sat 2026-11-21 12:34:56.789 there. */
#define NOW (1795260896 * S + 789 * MS)

struct text_case {
	const char *text;
	uint64_t ns;
};

static int set_zone(void **state)
{
	return setenv("TZ", EUROPE, 1);
}

static void durations_are_read(void **state)
{
	static const struct text_case cases[] = {
		{ "10min", 600 * S },
		{ "1h 30min", 5400 * S },
		{ "1h30min", 5400 * S },
		{ " 2 d ", 172800 * S },
		{ "500ms", 500 * MS },
		{ "50", 50 * S },
		{ "5 10s", 15 * S },
		{ "0", 0 },
		{ "1.5h", 5400 * S },
		{ ".5s", 500 * MS },
		{ "1.25us", 1250 },
		{ "0.1234567891s", 123456789 },
		{ "300ms20s 5day", 432020 * S + 300 * MS },
		{ "1y 12month", 63115200 * S },
		{ "1M", 2629800 * S },
		{ "1m", 60 * S },
		{ "2weeks", 1209600 * S },
		{ "55s500ms", 55 * S + 500 * MS },
		{ "3\xc2\xb5s 4\xce\xbcs", 7000 },
		{ "7nsec", 7 },
		{ "18446744073709551615ns", UINT64_MAX },
		{ "584y", 584 * (31557600 * S) },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct fault fault = { 0 };
		uint64_t ns = 77;

		if (time_text_parse_duration(cases[i].text, &ns, &fault) < 0)
			fail_msg("%s", fault.text);
		if (ns != cases[i].ns)
			fail_msg("'%s' is %" PRIu64, cases[i].text, ns);
	}
}

static void malformed_durations_are_refused(void **state)
{
	static const char *const texts[] = { "", " ", "min", "-5s", "+5s", "5 parsecs", "5.", "5.s",
		"5. 5s", "1.5.5s", "5,5s", "1e3s", "infinity", "5 MIN", "5minn", "1h-", "0x10s",
		"18446744073709551616ns", "18446744073709551615ns 1ns", "585y",
		"18446744073709551616", "18446744073709551615.9ns 1ns", "18446744074s" };
	char long_text[4096];

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct fault fault = { 0 };
		uint64_t ns = 77;

		if (time_text_parse_duration(texts[i], &ns, &fault) != -EINVAL)
			fail_msg("'%s' is %" PRIu64, texts[i], ns);
		assert_int_equal(ns, 77);
		assert_non_null(strstr(fault.text, texts[i]));
		assert_non_null(strstr(fault.text, "1h 30min"));
	}
	memset(long_text, '0', sizeof(long_text) - 1);
	long_text[sizeof(long_text) - 1] = '\0';
	assert_int_equal(time_text_parse_duration(long_text, &(uint64_t){ 0 }, NULL), -EINVAL);
	assert_int_equal(time_text_parse_duration("5 \x1b[1m", &(uint64_t){ 0 }, NULL), -EINVAL);
}

static void times_are_read(void **state)
{
	static const struct text_case cases[] = {
		{ "now", NOW },
		{ " Now ", NOW },
		{ "today", 1795215600 * S },
		{ "yesterday", (1795215600 - 86400) * S },
		{ "tomorrow", (1795215600 + 86400) * S },
		{ "yesterday 18:00", (1795215600 - 6 * 3600) * S },
		{ "2026-11-20", 1795129200 * S },
		{ "2026-11-20 03:12", 1795140720 * S },
		{ "2026-11-20  03:12:05", 1795140725 * S },
		{ "2026-11-20 3:12:05.25", 1795140725 * S + 250 * MS },
		{ "2026-11-20T03:12:05", 1795140725 * S },
		{ "26-11-20 03:12", 1795140720 * S },
		{ "2026-7-20 03:12", 1784509920 * S },
		{ "Fri 2026-11-20 03:12", 1795140720 * S },
		{ "friday 2026-11-20", 1795129200 * S },
		{ "2024-02-29", 1709161200 * S },
		{ "03:12", 1795227120 * S },
		{ "3:12:30", 1795227150 * S },
		{ "23:59:60", (1795215600 + 86400) * S },
		{ "@1763608320", 1763608320 * S },
		{ "@1763608320.5", 1763608320 * S + 500 * MS },
		{ "@0", 0 },
		{ "-10min", NOW - 600 * S },
		{ "- 10min", NOW - 600 * S },
		{ "+1h 30min", NOW + 5400 * S },
		{ "10min ago", NOW - 600 * S },
		{ "10min left", NOW + 600 * S },
		{ "1970-01-01 UTC", 0 },
		{ "2554-07-21 23:34:33 UTC", 18446744073 * S },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct fault fault = { 0 };
		uint64_t ns = 77;

		if (time_text_parse(cases[i].text, NOW, &ns, &fault) < 0)
			fail_msg("%s", fault.text);
		if (ns != cases[i].ns)
			fail_msg("'%s' is %" PRIu64, cases[i].text, ns);
	}
}

static void zones_are_read(void **state)
{
	static const struct text_case cases[] = {
		{ "2026-11-20 03:12 UTC", 1795144320 * S },
		{ "2026-11-20 03:12 utc", 1795144320 * S },
		{ "2026-11-20T03:12Z", 1795144320 * S },
		{ "2026-11-20 03:12:00 Z", 1795144320 * S },
		{ "2026-11-20 03:12:00.5Z", 1795144320 * S + 500 * MS },
		{ "2026-11-20 03:12+01:00", 1795140720 * S },
		{ "2026-11-20 03:12 -0530", (1795144320 + 19800) * S },
		{ "2026-11-20 03:12-05", (1795144320 + 18000) * S },
		{ "2026-11-20 +05:30", (1795132800 - 19800) * S },
		{ "2026-11-20 03:12 CET", 1795140720 * S },
		{ "2026-11-20 03:12 CEST", 1795137120 * S },
		/* It is still the 21st there, or the 22nd already. */
		{ "today UTC", 1795219200 * S },
		{ "today +14:00", (1795219200 + 86400 - 14 * 3600) * S },
		{ "00:30 +14:00", (1795219200 + 86400 - 14 * 3600 + 1800) * S },
		{ "today -23:59", (1795219200 - 86400 + 86340) * S },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct fault fault = { 0 };
		uint64_t ns = 77;

		if (time_text_parse(cases[i].text, NOW, &ns, &fault) < 0)
			fail_msg("%s", fault.text);
		if (ns != cases[i].ns)
			fail_msg("'%s' is %" PRIu64, cases[i].text, ns);
	}
}

static void malformed_times_are_refused(void **state)
{
	static const char *const texts[] = { "", " ", "10min", "noon", "Fri", "2026-11",
		"2026-11-31", "2026-02-29", "2100-02-29", "2026-13-01", "2026-00-10", "2026-01-00",
		"2026-11-20x", "20261-11-20", "126-11-20", "2026-11-200", "24:00", "12:60",
		"12:30:61", "12:30:", "12:30:5.", "12:", "12:30 x", "2026-11-20 03",
		"Sat 2026-11-20", "Fri 12:00", "Fri today", "2026-11-20 12:00 +24:00",
		"2026-11-20 12:00 +01:60", "2026-11-20 12:00 +1", "2026-11-20 12:00 CEST UTC x",
		"UTC", "Z", "+05:00", "@", "@-1", "@1x", "@18446744074", "-", "+", "ago", "-1s ago",
		"-60y", "60y ago", "+600y", "528y left", "1969-12-31 UTC", "1970-01-01",
		"2554-07-22 UTC", "9999-12-31", "0000-01-01", "1899-12-31",
		"2026-11-20 12:00 Asia/Tokyo", "today 25:00", "todayx", "\xff\xfe" };
	char long_text[4096];

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct fault fault = { 0 };
		uint64_t ns = 77;

		if (time_text_parse(texts[i], NOW, &ns, &fault) != -EINVAL)
			fail_msg("'%s' is %" PRIu64, texts[i], ns);
		assert_int_equal(ns, 77);
		assert_non_null(strstr(fault.text, "is no time: "));
		assert_null(strchr(fault.text, '\xff'));
	}
	memset(long_text, ' ', sizeof(long_text));
	memcpy(long_text + sizeof(long_text) - 4, "now", 4);
	assert_int_equal(
		time_text_parse(long_text + sizeof(long_text) - 40, NOW, &(uint64_t){ 0 }, NULL),
		0);
	memset(long_text, '1', sizeof(long_text) - 4);
	assert_int_equal(time_text_parse(long_text, NOW, &(uint64_t){ 0 }, NULL), -EINVAL);
}

static uint64_t read_time(const char *text)
{
	struct fault fault = { 0 };
	uint64_t ns = 0;

	if (time_text_parse(text, NOW, &ns, &fault) < 0)
		fail_msg("%s", fault.text);
	return ns;
}

static void daylight_saving_changes_are_handled(void **state)
{
	uint64_t ns;

	/* 02:30 does not exist; days have 23 and 25 hours. */
	ns = read_time("2026-03-29 02:30");
	assert_true(ns == 1774747800 * S || ns == 1774744200 * S);
	assert_int_equal(read_time("2026-03-30") - read_time("2026-03-29"), 23 * 3600 * S);
	/* 02:30 is there twice, and its zone says which. */
	ns = read_time("2026-10-25 02:30");
	assert_true(ns == 1792891800 * S || ns == 1792888200 * S);
	assert_int_equal(read_time("2026-10-25 02:30 CET"), 1792891800 * S);
	assert_int_equal(read_time("2026-10-25 02:30 CEST"), 1792888200 * S);
	assert_int_equal(read_time("2026-10-26") - read_time("2026-10-25"), 25 * 3600 * S);
}

static void times_are_written(void **state)
{
	char text[TIME_TEXT_BYTES];

	assert_string_equal(
		time_text_format(1795140725 * S + 999 * MS, text), "2026-11-20 03:12:05");
	assert_string_equal(time_text_format(1784509920 * S, text), "2026-07-20 03:12:00");
	assert_string_equal(time_text_format(0, text), "1970-01-01 01:00:00");
	assert_string_equal(time_text_format(UINT64_MAX, text), "2554-07-22 01:34:33");
	assert_int_equal(read_time(time_text_format(NOW, text)), NOW - NOW % S);
}

static void durations_are_written(void **state)
{
	static const struct text_case cases[] = {
		{ "0s", 0 },
		{ "1ns", 1 },
		{ "999us 999ns", 999999 },
		{ "250ms", 250 * MS },
		{ "1s 500ms", 1500 * MS },
		{ "10s", 10 * S },
		{ "59min 59s", 3599 * S + 999 * MS },
		{ "1h 30min", 5400 * S },
		{ "1h", 3605 * S },
		{ "30d", 30 * 86400 * S },
		{ "1d 23h", 172799 * S },
		{ "213503d 23h", UINT64_MAX },
	};
	char text[TIME_TEXT_BYTES];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_string_equal(time_text_format_duration(cases[i].ns, text), cases[i].text);
}

/* The number after `key` in what systemd-analyze prints; false: it refuses the text. */
static bool ask_systemd(
	const char *command, const char *text, const char *key, uint64_t *ret_number)
{
	_cleanup_free_ char *line = NULL;
	size_t capacity = 0;
	bool is_found = false;
	char shell[512];
	FILE *output;

	(void)snprintf(
		shell, sizeof(shell), "systemd-analyze %s -- '%s' 2>/dev/null", command, text);
	output = popen(shell, "r");
	assert_non_null(output);
	while (getline(&line, &capacity, output) >= 0) {
		const char *at = strstr(line, key);

		if (at) {
			*ret_number = strtoull(at + strlen(key), NULL, 10);
			is_found = true;
		}
	}
	(void)pclose(output);
	return is_found;
}

static void systemd_analyze_agrees(void **state)
{
	static const char *const durations[] = { "10min", "1h 30min", "5 10s", "1.5h", ".5s", "1M",
		"1y 2w", "300ms20s 5day", "55s500ms", "5 parsecs", "5.", "1hr2hours", "-5s",
		"3 usec" };
	static const char *const times[] = { "2026-11-20 03:12", "2026-11-20", "26-11-20 03:12",
		"2026-07-20 03:12:05", "Fri 2026-11-20 03:12", "Sat 2026-11-20", "@1763608320",
		"2026-11-20 03:12 UTC", "1999-12-31 23:59:60", "2024-02-29", "2026-13-01", "24:00",
		"2026-11-20 3:2:1", "1970-01-01" };
	uint64_t theirs, ours;

	if (system("systemd-analyze timespan 1s >/dev/null 2>&1") != 0) {
		print_message("skipped: there is no systemd-analyze\n");
		skip();
	}
	for (size_t i = 0; i < ARRAY_SIZE(durations); i++) {
		bool is_good = ask_systemd("timespan", durations[i], "\xce\xbcs: ", &theirs);

		if ((time_text_parse_duration(durations[i], &ours, NULL) == 0) != is_good ||
			(is_good && ours != theirs * 1000))
			fail_msg("'%s' is %" PRIu64 " us to systemd", durations[i], theirs);
	}
	for (size_t i = 0; i < ARRAY_SIZE(times); i++) {
		bool is_good = ask_systemd("timestamp", times[i], "UNIX seconds: @", &theirs);

		if ((time_text_parse(times[i], NOW, &ours, NULL) == 0) != is_good ||
			(is_good && ours != theirs * S))
			fail_msg("'%s' is @%" PRIu64 " to systemd", times[i], theirs);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(durations_are_read),
		cmocka_unit_test(malformed_durations_are_refused),
		cmocka_unit_test(times_are_read),
		cmocka_unit_test(zones_are_read),
		cmocka_unit_test(malformed_times_are_refused),
		cmocka_unit_test(daylight_saving_changes_are_handled),
		cmocka_unit_test(times_are_written),
		cmocka_unit_test(durations_are_written),
		cmocka_unit_test(systemd_analyze_agrees),
	};

	return cmocka_run_group_tests(tests, set_zone, NULL);
}
