/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "serve/http_target.h"

#include "base/array.h"
#include "tests/harness/failing_allocation.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void path_and_parameters_are_decoded(void **state)
{
	struct http_target target;

	assert_int_equal(
		http_target_parse(
			"/a%2Fb+c?from=2026-11-20+03%3A12&&x%3dy=1=2&flag&e=&z=%E2%82%ac", &target),
		0);
	assert_string_equal(target.path, "/a/b+c");
	assert_int_equal(target.parameter_count, 5);
	assert_string_equal(target.parameters[0].name, "from");
	assert_string_equal(target.parameters[0].value, "2026-11-20 03:12");
	assert_string_equal(target.parameters[1].name, "x=y");
	assert_string_equal(target.parameters[1].value, "1=2");
	assert_string_equal(target.parameters[2].name, "flag");
	assert_string_equal(target.parameters[2].value, "");
	assert_string_equal(target.parameters[3].value, "");
	assert_string_equal(target.parameters[4].value, "€");
	http_target_done(&target);

	assert_int_equal(http_target_parse("", &target), 0);
	assert_string_equal(target.path, "");
	assert_int_equal(target.parameter_count, 0);
	http_target_done(&target);
}

static void malformed_encodings_are_refused(void **state)
{
	static const char *const texts[] = { "/%", "/%4", "/%zz", "/%-1", "/a?b=%", "/a?%0", "/%00",
		"/a?b=%00", "/a?%00=b", "/%ff", "/a?b=%c0%80", "/a?b=%ed%a0%80", "/\xff",
		"/a?\x80" };

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct http_target target = { .parameter_count = 7 };

		assert_int_equal(http_target_parse(texts[i], &target), -EILSEQ);
		assert_int_equal(target.parameter_count, 7);
	}
}

static void parameters_are_bounded(void **state)
{
	char text[HTTP_PARAMETERS_MAX * 4 + 16] = "/?";
	struct http_target target;

	for (int i = 0; i < HTTP_PARAMETERS_MAX; i++)
		strcat(text, "&a=b");
	assert_int_equal(http_target_parse(text, &target), 0);
	assert_int_equal(target.parameter_count, HTTP_PARAMETERS_MAX);
	http_target_done(&target);
	strcat(text, "&a");
	assert_int_equal(http_target_parse(text, &target), -E2BIG);
}

static void failing_allocations_are_reported(void **state)
{
	struct http_target target;

	fail_allocation(0);
	assert_int_equal(http_target_parse("/a", &target), -ENOMEM);
	assert_true(allocation_failed());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(path_and_parameters_are_decoded),
		cmocka_unit_test(malformed_encodings_are_refused),
		cmocka_unit_test(parameters_are_bounded),
		cmocka_unit_test(failing_allocations_are_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
