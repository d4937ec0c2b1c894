/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "client/query_text.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void parameters_are_encoded(void **state)
{
	static struct query_text query;
	const char *text;

	query_text_init(&query, "/api/v1/a b");
	query_text_add(&query, "from", "2026-11-20 03:12+01");
	query_text_add(&query, "a&b", "c=d%€\n\x7f");
	query_text_add(&query, "flag", NULL);
	query_text_add(&query, "empty", "");
	assert_int_equal(query_text_finish(&query, &text), 0);
	assert_string_equal(text,
		"/api/v1/a%20b?from=2026-11-20%2003:12%2B01&a%26b=c%3Dd%25%E2%82%AC%0A%7F"
		"&flag&empty=");
}

static void a_query_that_is_too_long_is_reported(void **state)
{
	static struct query_text query;
	static char value[QUERY_TEXT_BYTES + 1];
	const char *text = "untouched";

	memset(value, 'x', sizeof(value) - 1);
	/* "/?a=" and the NUL */
	value[QUERY_TEXT_BYTES - 5] = '\0';
	query_text_init(&query, "/");
	query_text_add(&query, "a", value);
	assert_int_equal(query_text_finish(&query, &text), 0);
	assert_int_equal(strlen(text), QUERY_TEXT_BYTES - 1);
	query_text_add(&query, "", NULL);
	text = "untouched";
	assert_int_equal(query_text_finish(&query, &text), -E2BIG);
	assert_string_equal(text, "untouched");

	value[QUERY_TEXT_BYTES - 5] = 'x';
	query_text_init(&query, "/");
	query_text_add(&query, "a", value);
	assert_int_equal(query_text_finish(&query, &text), -E2BIG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parameters_are_encoded),
		cmocka_unit_test(a_query_that_is_too_long_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
