/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "render/difference_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define SHARE(per_cent) ((int64_t)((per_cent) * (DIFFERENCE_SHARE_ONE / 100)))

static void shares_have_two_digits(void **state)
{
	char text[DIFFERENCE_TEXT_BYTES];

	assert_string_equal(difference_share(0, text), "0.00");
	assert_string_equal(difference_share(SHARE(12.34), text), "12.34");
	assert_string_equal(difference_share(SHARE(12.345), text), "12.35");
	assert_string_equal(difference_share(SHARE(100), text), "100.00");
	assert_string_equal(difference_share(49999, text), "0.00");
	assert_string_equal(difference_share(50000, text), "0.01");
}

static void points_have_a_sign_unless_they_round_to_nothing(void **state)
{
	char text[DIFFERENCE_TEXT_BYTES];

	assert_string_equal(difference_points(SHARE(2.66), text), "+2.66");
	assert_string_equal(difference_points(SHARE(-0.5), text), "-0.50");
	assert_string_equal(difference_points(0, text), "0.00");
	assert_string_equal(difference_points(-49999, text), "0.00");
	assert_string_equal(difference_points(-50000, text), "-0.01");
	assert_string_equal(difference_points(INT64_MAX, text), "+922337203685.48");
	assert_string_equal(difference_points(INT64_MIN + 1, text), "-922337203685.48");
}

static void ratios_are_of_the_base(void **state)
{
	char text[DIFFERENCE_TEXT_BYTES];

	assert_string_equal(difference_ratio(SHARE(10), SHARE(12.16), text), "+21.6 %");
	assert_string_equal(difference_ratio(SHARE(10), SHARE(5), text), "-50.0 %");
	assert_string_equal(difference_ratio(SHARE(10), SHARE(10), text), "0.0 %");
	assert_string_equal(difference_ratio(SHARE(10), SHARE(10) - 1, text), "0.0 %");
	assert_string_equal(difference_ratio(0, SHARE(1), text), "new");
	assert_string_equal(difference_ratio(SHARE(1), 0, text), "gone");
	assert_string_equal(difference_ratio(0, 0, text), "none");
	assert_string_equal(difference_ratio(1, INT64_MAX, text), "+429496729.5 %");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shares_have_two_digits),
		cmocka_unit_test(points_have_a_sign_unless_they_round_to_nothing),
		cmocka_unit_test(ratios_are_of_the_base),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
