/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "steer/heap_trim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define MIB    (1ULL << 20)
#define BUDGET (64 * MIB)

static void little_memory_is_left_alone(void **state)
{
	struct heap_trim trim = { 0 };

	assert_false(heap_trim_is_due(&trim, 0, BUDGET));
	assert_false(heap_trim_is_due(&trim, 48 * MIB, BUDGET));
	assert_true(heap_trim_is_due(&trim, 48 * MIB + 1, BUDGET));
}

static void memory_in_use_is_not_trimmed_again(void **state)
{
	struct heap_trim trim = { 0 };

	assert_true(heap_trim_is_due(&trim, 60 * MIB, BUDGET));
	heap_trim_done(&trim, 58 * MIB);
	assert_false(heap_trim_is_due(&trim, 60 * MIB, BUDGET));
	assert_false(heap_trim_is_due(&trim, 62 * MIB - 1, BUDGET));
	assert_true(heap_trim_is_due(&trim, 62 * MIB, BUDGET));
}

/* What was in use is freed, so the heap can shrink again. */
static void growth_counts_from_the_least(void **state)
{
	struct heap_trim trim = { 0 };

	heap_trim_done(&trim, 58 * MIB);
	assert_false(heap_trim_is_due(&trim, 50 * MIB, BUDGET));
	assert_false(heap_trim_is_due(&trim, 53 * MIB, BUDGET));
	assert_true(heap_trim_is_due(&trim, 54 * MIB, BUDGET));
}

static void memory_beyond_the_budget_is_trimmed(void **state)
{
	struct heap_trim trim = { 0 };

	assert_true(heap_trim_is_due(&trim, UINT64_MAX, BUDGET));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(little_memory_is_left_alone),
		cmocka_unit_test(memory_in_use_is_not_trimmed_again),
		cmocka_unit_test(growth_counts_from_the_least),
		cmocka_unit_test(memory_beyond_the_budget_is_trimmed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
