/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/top/metrics_text.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const char text[] = "# HELP cpus How many.\n"
			   "# TYPE cpus gauge\n"
			   "cpus_online 7\n"
			   "cpus 4\n"
			   "cpus 5\n"
			   "seconds{role=\"engine\"} 1.5e-3 1700000000\n"
			   "\n"
			   "none NaN\n"
			   "endless +Inf\n"
			   "wrong 1x\n"
			   "empty \n"
			   "spaced  1\n"
			   "long 1111111111111111111111111111111111111111111111111111111111111111\n"
			   "last 0.25";

static void expect(const char *series, int error, double expected)
{
	double value = -1;

	assert_int_equal(metrics_text_find(text, strlen(text), series, &value), error);
	assert_true(value == expected);
}

static void values_are_found_by_their_series(void **state)
{
	expect("cpus", 0, 4);
	expect("cpus_online", 0, 7);
	expect("seconds{role=\"engine\"}", 0, 1.5e-3);
	expect("last", 0, 0.25);
}

static void missing_series_and_malformed_numbers_are_reported(void **state)
{
	double value = -1;

	expect("cpu", -ENOENT, -1);
	expect("seconds", -ENOENT, -1);
	expect("none", -EINVAL, -1);
	expect("endless", -EINVAL, -1);
	expect("wrong", -EINVAL, -1);
	expect("empty", -EINVAL, -1);
	expect("spaced", -EINVAL, -1);
	expect("long", -EINVAL, -1);
	assert_int_equal(metrics_text_find("", 0, "cpus", &value), -ENOENT);
	assert_int_equal(metrics_text_find("cpus", 4, "cpus", &value), -ENOENT);
	assert_int_equal(metrics_text_find("cpus ", 5, "cpus", &value), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_are_found_by_their_series),
		cmocka_unit_test(missing_series_and_malformed_numbers_are_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
