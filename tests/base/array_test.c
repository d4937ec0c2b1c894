/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/array.h"
#include "tests/harness/failing_allocation.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

/* A size that wraps is to be an error here as it is without the sanitizer, not the end. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "allocator_may_return_null=1";
}

static void elements_survive_growth(void **state)
{
	uint32_t *numbers = NULL;
	size_t capacity = 0, growths = 0;

	for (size_t i = 0; i < 100000; i++) {
		size_t before = capacity;

		assert_int_equal(ARRAY_RESERVE(numbers, &capacity, i + 1, SIZE_MAX), 0);
		growths += capacity != before;
		assert_true(capacity > i);
		numbers[i] = (uint32_t)i;
	}
	for (size_t i = 0; i < 100000; i++)
		assert_int_equal(numbers[i], i);
	assert_true(growths < 20);
	free(numbers);
}

static void existing_capacity_is_kept(void **state)
{
	uint64_t *numbers = NULL;
	size_t capacity = 0;
	uint64_t *first;

	assert_int_equal(ARRAY_RESERVE(numbers, &capacity, 0, 0), 0);
	assert_null(numbers);
	assert_int_equal(ARRAY_RESERVE(numbers, &capacity, 5, 100), 0);
	first = numbers;
	assert_int_equal(ARRAY_RESERVE(numbers, &capacity, 3, 100), 0);
	assert_ptr_equal(numbers, first);
	free(numbers);
}

static void limit_is_kept_and_reached(void **state)
{
	char *bytes = NULL;
	size_t capacity = 0;

	assert_int_equal(ARRAY_RESERVE(bytes, &capacity, 20, 20), 0);
	assert_int_equal(capacity, 20);
	bytes[0] = 'x';
	bytes[19] = 'y';
	assert_int_equal(ARRAY_RESERVE(bytes, &capacity, 21, 20), -E2BIG);
	assert_int_equal(capacity, 20);
	assert_int_equal(bytes[0], 'x');
	assert_int_equal(bytes[19], 'y');
	free(bytes);
}

static void sizes_do_not_wrap(void **state)
{
	uint64_t *numbers = NULL;
	size_t capacity = 0;

	assert_int_equal(ARRAY_RESERVE(numbers, &capacity, SIZE_MAX / 8 + 2, SIZE_MAX), -ENOMEM);
	assert_int_equal(ARRAY_RESERVE(numbers, &capacity, SIZE_MAX, SIZE_MAX), -ENOMEM);
	assert_null(numbers);
	assert_int_equal(capacity, 0);
}

static void failing_allocation_leaves_the_array_whole(void **state)
{
	uint32_t *numbers = NULL;
	size_t capacity = 0, before;

	fail_allocation(0);
	assert_int_equal(ARRAY_RESERVE(numbers, &capacity, 1, 100), -ENOMEM);
	assert_true(allocation_failed());
	assert_null(numbers);
	assert_int_equal(capacity, 0);

	assert_int_equal(ARRAY_RESERVE(numbers, &capacity, 1, 100), 0);
	numbers[0] = 7;
	before = capacity;
	fail_allocation(0);
	assert_int_equal(ARRAY_RESERVE(numbers, &capacity, before + 1, 100), -ENOMEM);
	assert_true(allocation_failed());
	assert_int_equal(capacity, before);
	assert_int_equal(numbers[0], 7);
	free(numbers);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(elements_survive_growth),
		cmocka_unit_test(existing_capacity_is_kept),
		cmocka_unit_test(limit_is_kept_and_reached),
		cmocka_unit_test(sizes_do_not_wrap),
		cmocka_unit_test(failing_allocation_leaves_the_array_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
