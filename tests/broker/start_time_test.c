/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "broker/start_time.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void start_times_parse(void **state)
{
	static const char *const bad[] = { "", "77", "77 (a", "77 (a)", "77 (a) S 1 2 3",
		"77 (a) S 1 77 77 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 1234",
		"77 (a) S 1 77 77 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 -5 1000\n",
		"77 (a) S 1 77 77 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 \n",
		"77 (a) S 1 77 77 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 99999999999999999999 1\n" };
	static const char plain[] =
		"77 (a) S 1 77 77 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 123456 1000 2 3\n";
	static const char hostile[] =
		"1 () 9 9) S\n(\n) S 1 77 77 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 5 ";
	uint64_t ticks = 7;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(start_time_parse(bad[i], strlen(bad[i]), &ticks), -EINVAL);
	assert_int_equal(ticks, 7);
	assert_int_equal(start_time_parse(plain, strlen(plain), &ticks), 0);
	assert_int_equal(ticks, 123456);
	assert_int_equal(start_time_parse(hostile, strlen(hostile), &ticks), 0);
	assert_int_equal(ticks, 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(start_times_parse),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
