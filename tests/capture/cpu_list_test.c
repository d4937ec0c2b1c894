/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/cpu_list.h"
#include "tests/harness/failing_allocation.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

static void ranges_are_spread_out(void **state)
{
	const uint32_t expected[] = { 0, 1, 2, 3, 8, 10, 11 };
	uint32_t *cpus;

	assert_int_equal(cpu_list_parse("0-3,8,10-11\n", &cpus), 7);
	assert_memory_equal(cpus, expected, sizeof(expected));
	free(cpus);
	assert_int_equal(cpu_list_parse("5", &cpus), 1);
	assert_int_equal(cpus[0], 5);
	free(cpus);
}

static void malformed_lists_are_refused(void **state)
{
	const char *const texts[] = { "", "\n", "a", "1-", "-1", "3-1", "0,0", "4,2", "1,", "0-1x",
		"1 2", "0-3,2-5" };
	uint32_t *cpus = NULL;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_int_equal(cpu_list_parse(texts[i], &cpus), -EINVAL);
	assert_int_equal(cpu_list_parse("0-99999999999", &cpus), -E2BIG);
	assert_int_equal(cpu_list_parse("8192", &cpus), -E2BIG);
	assert_null(cpus);
}

static void online_cpus_are_as_many_as_the_library_says(void **state)
{
	uint32_t *cpus;
	int count = cpu_list_read_online(&cpus);

	assert_int_equal(count, sysconf(_SC_NPROCESSORS_ONLN));
	free(cpus);
}

static void failing_allocations_are_reported(void **state)
{
	uint32_t *cpus = NULL;
	size_t n;
	int r;

	for (n = 0;; n++) {
		fail_allocation(n);
		r = cpu_list_parse("0-63", &cpus);
		if (!allocation_failed())
			break;
		assert_int_equal(r, -ENOMEM);
		assert_null(cpus);
	}
	assert_int_equal(r, 64);
	assert_true(n >= 2);
	free(cpus);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranges_are_spread_out),
		cmocka_unit_test(malformed_lists_are_refused),
		cmocka_unit_test(online_cpus_are_as_many_as_the_library_says),
		cmocka_unit_test(failing_allocations_are_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
