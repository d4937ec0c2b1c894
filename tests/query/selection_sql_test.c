/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "query/selection_sql.h"

#include "tests/query/selection_fixture.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *text_of(void (*write)(FILE *file, const void *what, const char *value),
	const void *what, const char *value)
{
	static char text[4096];
	FILE *file = fmemopen(text, sizeof(text), "w");

	write(file, what, value);
	assert_int_equal(fclose(file), 0);
	return text;
}

/* Times are separated by '|'. */
static void write_selection(FILE *file, const void *selection, const char *unused)
{
	struct sql_times times[SQL_TIMES_MAX];
	const size_t count = selection_sql_times(selection, times);
	struct fault fault = { 0 };

	for (size_t i = 0; i < count; i++) {
		(void)fputs(i > 0 ? "|" : "", file);
		assert_int_equal(selection_write_sql(selection, &times[i], file, &fault), 0);
	}
}

static void write_match(FILE *file, const void *column, const char *value)
{
	sql_write_match(file, column, value);
}

static const char *condition(const char *const *pairs)
{
	struct selection *selection = make_selection(pairs);
	const char *text = text_of(write_selection, selection, NULL);

	selection_free(selection);
	return text;
}

#define EXPECT(sql, ...)                                                                      \
	assert_string_equal(condition((const char *const[]){ __VA_ARGS__, NULL }), "type IN " \
										   "(" sql)

#define MINUTE                                                                       \
	" AND toStartOfHour(ts) >= toDateTime(1795172400) AND toStartOfHour(ts) <= " \
	"toDateTime(1795176000) AND ts >= toDateTime(1795175940) AND ts < toDateTime(1795176000)"

#define HOURS                                                                       \
	" AND toStartOfHour(ts) >= toDateTime(1795168800) AND toStartOfHour(ts) < " \
	"toDateTime(1795176000)"

static void a_selection_is_a_condition(void **state)
{
	EXPECT("'cpu')" MINUTE, "last", "1min");
	EXPECT("'cpu')" MINUTE, "last", "1min", "event", "cycles");
	EXPECT("'cpu', 'offcpu', 'runqueue')" MINUTE, "last", "1min", "event", "wall");
	EXPECT("'cache-misses')" MINUTE, "last", "1min", "event", "cache-misses");
	EXPECT("'cpu')" MINUTE " AND (has(labels, concat('unit=', 'nginx.service')))", "last",
		"1min", "unit", "nginx");
	EXPECT("'cpu')" MINUTE " AND (comm = 'a\\'b\\\\' OR match(comm, '(?s)^w.*\\\\.x$'))",
		"last", "1min", "comm", "a'b\\", "comm", "w*.x");
	EXPECT("'cpu')" MINUTE
	       " AND (arrayExists(x -> match(x, '(?s)^exe=(.*/)?xz$'), labels)) AND "
	       "(arrayExists(x -> match(x, '(?s)^container=ab'), labels))",
		"last", "1min", "container", "ab", "exe", "xz");
	EXPECT("'cpu')" MINUTE " AND (1)", "last", "1min", "pod", "*");
	EXPECT("'cpu')" HOURS, "from", "@1795168800", "to", "@1795176000");
}

/* Servers may have sums of whole hours. */
static void whole_hours_are_asked_for_alone(void **state)
{
	static const char before[] =
		" AND toStartOfHour(ts) >= toDateTime(1795165200) AND toStartOfHour(ts) <= "
		"toDateTime(1795168800) AND ts >= toDateTime(1795168790) AND "
		"ts < toDateTime(1795168800)";
	static const char behind[] =
		" AND toStartOfHour(ts) >= toDateTime(1795176000) AND toStartOfHour(ts) <= "
		"toDateTime(1795176000) AND ts >= toDateTime(1795176000) AND "
		"ts < toDateTime(1795176001)";
	char expected[2048];

	(void)snprintf(expected, sizeof(expected),
		"type IN ('cpu')%s|type IN ('cpu')" HOURS "|type IN ('cpu')%s", before, behind);
	assert_string_equal(condition((const char *const[]){
				    "from", "@1795168790", "to", "@1795176001", NULL }),
		expected);
	(void)snprintf(
		expected, sizeof(expected), "type IN ('cpu')" HOURS "|type IN ('cpu')%s", behind);
	assert_string_equal(condition((const char *const[]){
				    "from", "@1795168800", "to", "@1795176001", NULL }),
		expected);
	(void)snprintf(
		expected, sizeof(expected), "type IN ('cpu')%s|type IN ('cpu')" HOURS, before);
	assert_string_equal(condition((const char *const[]){
				    "from", "@1795168790", "to", "@1795176000", NULL }),
		expected);
	/* Two hours, neither of them whole. */
	EXPECT("'cpu') AND toStartOfHour(ts) >= toDateTime(1795168800) AND toStartOfHour(ts) <= "
	       "toDateTime(1795172400) AND ts >= toDateTime(1795168801) AND "
	       "ts < toDateTime(1795175999)",
		"from", "@1795168801", "to", "@1795175999");
}

static void ids_select_bytes(void **state)
{
	EXPECT("'cpu')" MINUTE " AND trace_id = "
	       "toFixedString(unhex('0af7651916cd43dd8448eb211c80319c'), 16) AND span_id = "
	       "toFixedString(unhex('00f067aa0ba902b7'), 8)",
		"last", "1min", "trace", "0AF7651916cd43dd8448eb211c80319c", "span",
		"00f067aa0ba902b7");
	/* One time, however long it is: no sums of hours have ids. */
	assert_null(strchr(
		condition((const char *const[]){ "last", "1d", "span", "00f067aa0ba902b7", NULL }),
		'|'));
}

static void globs_are_regular_expressions(void **state)
{
	static const char *const pairs[][2] = {
		{ "web", "host = 'web'" },
		{ "o'neil\\", "host = 'o\\'neil\\\\'" },
		{ "web-*.a+b", "match(host, '(?s)^web-.*\\\\.a\\\\+b$')" },
		{ "w?b", "match(host, '(?s)^w.b$')" },
		{ "web[0-9]", "match(host, '(?s)^web[0-9]$')" },
		{ "web[!a]x", "match(host, '(?s)^web[^a]x$')" },
		{ "a[]b]", "match(host, '(?s)^a[\\\\]b]$')" },
		{ "a[b", "match(host, '(?s)^a\\\\[b$')" },
		{ "*'\\", "match(host, '(?s)^.*\\'\\\\\\\\$')" },
	};

	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
		assert_string_equal(text_of(write_match, "host", pairs[i][0]), pairs[i][1]);
}

/* Processes and users are of one host. */
static void what_a_fleet_lacks_is_refused(void **state)
{
	static const char *const names[] = { "pid", "tid", "user", "build-id", "slice", "cgroup" };
	struct sql_times times[SQL_TIMES_MAX];
	char buffer[1024];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct selection *selection = MAKE(names[i], "1");
		FILE *file = fmemopen(buffer, sizeof(buffer), "w");
		struct fault fault = { 0 };

		(void)selection_sql_times(selection, &times[0]);
		assert_int_equal(selection_write_sql(selection, &times[0], file, &fault), -EINVAL);
		assert_non_null(strstr(fault.text, names[i]));
		assert_int_equal(fclose(file), 0);
		selection_free(selection);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_selection_is_a_condition),
		cmocka_unit_test(whole_hours_are_asked_for_alone),
		cmocka_unit_test(ids_select_bytes),
		cmocka_unit_test(globs_are_regular_expressions),
		cmocka_unit_test(what_a_fleet_lacks_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
