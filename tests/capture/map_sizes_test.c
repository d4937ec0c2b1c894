/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/map_sizes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { MIB = 1 << 20 };

static void compute(uint32_t rate_hz, uint32_t cpus, size_t budget, uint32_t forced, uint32_t depth,
	struct map_sizes *ret_sizes)
{
	const struct map_sizes_work work = {
		.rate_hz = rate_hz,
		.cpu_count = cpus,
		.stack_depth = depth,
		.forced_stack_slots = forced,
	};

	map_sizes_compute(&work, budget, ret_sizes);
}

static void check_invariants(const struct map_sizes *sizes)
{
	assert_int_equal(sizes->stack_slots & (sizes->stack_slots - 1), 0);
	assert_int_equal(sizes->ring_bytes & (sizes->ring_bytes - 1), 0);
	assert_true(sizes->ring_bytes >= 64 * 1024);
	assert_true(sizes->stack_slots >= 64);
	assert_in_range(sizes->build_id_stack_slots, 64, sizes->stack_slots);
	assert_int_equal(map_sizes_bytes(sizes), sizes->total_bytes);
	assert_in_range(sizes->drain_period_ms, 100, 2550);
}

static void small_machine_has_the_long_period(void **state)
{
	struct map_sizes sizes;

	compute(99, 2, 20 * MIB, 0, 127, &sizes);
	check_invariants(&sizes);
	assert_int_equal(sizes.drain_period_ms, 2550);
	assert_true(sizes.stack_slots >= 4 * 99 * 2 * 5 / 2);
	assert_true(sizes.total_bytes <= 20 * MIB);
}

static void budget_shortens_the_period(void **state)
{
	struct map_sizes sizes;

	compute(999, 4, 20 * MIB, 0, 127, &sizes);
	check_invariants(&sizes);
	assert_true(sizes.total_bytes <= 20 * MIB);
	assert_true(sizes.drain_period_ms < 2550);
	/* A window's samples still fit four times over. */
	assert_true(999ULL * 4 * sizes.drain_period_ms / 1000 * 4 <= sizes.stack_slots);
}

static void sizes_stay_within_the_budget_or_at_the_least(void **state)
{
	const uint32_t rates[] = { 1, 19, 99, 999, 20000 }, cpus[] = { 1, 2, 64, 512 };
	const size_t budgets[] = { 0, MIB, 20 * MIB, 256 * MIB };
	struct map_sizes sizes;

	for (size_t i = 0; i < 5; i++)
		for (size_t j = 0; j < 4; j++)
			for (size_t k = 0; k < 4; k++) {
				compute(rates[i], cpus[j], budgets[k], 0, 127, &sizes);
				check_invariants(&sizes);
				assert_true(
					sizes.total_bytes <= budgets[k] || sizes.stack_slots == 64);
			}
}

static void shallow_stacks_take_less(void **state)
{
	struct map_sizes deep, shallow;

	compute(99, 2, 20 * MIB, 0, 127, &deep);
	compute(99, 2, 20 * MIB, 0, 32, &shallow);
	check_invariants(&shallow);
	assert_int_equal(shallow.stack_slots, deep.stack_slots);
	assert_true(shallow.total_bytes < deep.total_bytes / 2);
}

static void forced_size_is_kept(void **state)
{
	struct map_sizes sizes;

	compute(999, 4, 20 * MIB, 64, 127, &sizes);
	check_invariants(&sizes);
	assert_int_equal(sizes.stack_slots, 64);
	compute(99, 1, MIB, 8192, 127, &sizes);
	check_invariants(&sizes);
	assert_int_equal(sizes.stack_slots, 8192);
	compute(99, 1, MIB, 100, 127, &sizes);
	assert_int_equal(sizes.stack_slots, 128);
}

static void walked_stacks_leave_the_stackmaps_half_as_big(void **state)
{
	struct map_sizes_work work = { .rate_hz = 99, .cpu_count = 2, .stack_depth = 127 };
	struct map_sizes with, without;

	map_sizes_compute(&work, 20 * MIB, &without);
	work.has_walks = true;
	map_sizes_compute(&work, 20 * MIB, &with);
	check_invariants(&with);
	assert_int_equal(without.walk_slots, 0);
	assert_int_equal(with.stack_slots, without.stack_slots / 2);
	assert_int_equal(with.drain_period_ms, without.drain_period_ms);
	assert_true(with.walk_slots >= 99 * 2 * 2);
	assert_int_equal(with.walk_slots & (with.walk_slots - 1), 0);
	assert_true(with.total_bytes < without.total_bytes * 6 / 10);
	/* Each sample of a period with a stack of 50 frames, and names, before the ring is half
	 * full. */
	assert_true(with.ring_bytes / 2 >= 99 * 2 * 2 * (72 + 50 * 8) + 256 * 1024);
	assert_true(with.ring_bytes > without.ring_bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(small_machine_has_the_long_period),
		cmocka_unit_test(budget_shortens_the_period),
		cmocka_unit_test(sizes_stay_within_the_budget_or_at_the_least),
		cmocka_unit_test(shallow_stacks_take_less),
		cmocka_unit_test(forced_size_is_kept),
		cmocka_unit_test(walked_stacks_leave_the_stackmaps_half_as_big),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
