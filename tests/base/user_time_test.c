/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/user_time.h"

#include "tests/harness/distinct_users.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define SECOND 1000000000ULL

static void time_leaks_steadily(void **state)
{
	struct user_time time = { .burst_ns = 10 * SECOND, .leak_ppm = 50000 };

	assert_int_equal(user_time_level(&time, 5, 7 * SECOND), 0);
	user_time_add(&time, 5, 4 * SECOND, 100 * SECOND);
	assert_int_equal(user_time_level(&time, 5, 100 * SECOND), 4 * SECOND);
	assert_int_equal(user_time_level(&time, 5, 120 * SECOND), 3 * SECOND);
	user_time_add(&time, 5, SECOND, 140 * SECOND);
	assert_int_equal(user_time_level(&time, 5, 140 * SECOND), 3 * SECOND);
	assert_int_equal(user_time_level(&time, 5, 100000 * SECOND), 0);
}

static void a_full_bucket_is_its_users(void **state)
{
	struct user_time time = { .burst_ns = 10 * SECOND, .leak_ppm = 50000 };
	struct user_share seen = { 0 };
	const uint64_t user = distinct_user(&seen, 1000), other = distinct_user(&seen, 1001);

	user_time_add(&time, user, 11 * SECOND, SECOND);
	assert_true(user_time_is_over(&time, user, SECOND));
	assert_false(user_time_is_over(&time, other, SECOND));
	assert_true(user_time_is_over(&time, user, 20 * SECOND));
	assert_false(user_time_is_over(&time, user, 22 * SECOND));
	time.burst_ns = 0;
	assert_false(user_time_is_over(&time, user, SECOND));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(time_leaks_steadily),
		cmocka_unit_test(a_full_bucket_is_its_users),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
