/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/sample_sum.h"
#include "tests/harness/failing_allocation.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { KEYS = 5000 };

static uint64_t find(const struct sample_sum *sum, uint32_t thread, uint32_t node)
{
	for (size_t i = 0; i < sum->capacity; i++)
		if (sum->slots[i].key != 0 && sample_sum_thread(&sum->slots[i]) == thread &&
			sample_sum_node(&sum->slots[i]) == node)
			return sum->slots[i].value;
	return 0;
}

static void sums_are_kept_apart(void **state)
{
	struct sample_sum sum = { 0 };

	for (uint32_t round = 1; round <= 3; round++)
		for (uint32_t i = 0; i < KEYS; i++)
			assert_int_equal(sample_sum_add(&sum, i % 7, i, round, KEYS), 0);
	assert_int_equal(sum.count, KEYS);
	for (uint32_t i = 0; i < KEYS; i += 97)
		assert_int_equal(find(&sum, i % 7, i), 6);
	sample_sum_clear(&sum);
	assert_int_equal(sum.count, 0);
	assert_int_equal(find(&sum, 0, 0), 0);
	sample_sum_done(&sum);
}

static void the_bound_holds_for_what_is_new(void **state)
{
	struct sample_sum sum = { 0 };

	assert_int_equal(sample_sum_add(&sum, 0, 0, 1, 2), 0);
	assert_int_equal(sample_sum_add(&sum, UINT32_MAX - 1, UINT32_MAX, UINT64_MAX, 2), 0);
	assert_int_equal(sample_sum_add(&sum, 1, 1, 1, 2), -E2BIG);
	assert_int_equal(sample_sum_add(&sum, UINT32_MAX - 1, UINT32_MAX, 5, 2), 0);
	assert_int_equal(find(&sum, UINT32_MAX - 1, UINT32_MAX), UINT64_MAX);
	assert_int_equal(sum.count, 2);
	sample_sum_done(&sum);
}

static void failing_allocations_keep_the_sums(void **state)
{
	struct sample_sum sum = { 0 };
	uint32_t i = 0;

	fail_allocation(0);
	assert_int_equal(sample_sum_add(&sum, 1, i, 1, KEYS), -ENOMEM);
	assert_true(allocation_failed());
	fail_allocation(1);
	while (sample_sum_add(&sum, 1, i, 1, KEYS) == 0)
		i++;
	assert_true(allocation_failed());
	assert_int_equal(sum.count, i);
	assert_int_equal(find(&sum, 1, i - 1), 1);
	assert_int_equal(sample_sum_add(&sum, 1, i, 1, KEYS), 0);
	sample_sum_done(&sum);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums_are_kept_apart),
		cmocka_unit_test(the_bound_holds_for_what_is_new),
		cmocka_unit_test(failing_allocations_keep_the_sums),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
