/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The decisions of the BPF sampler, compiled for the host. */
#include "bpf/sampler.bpf.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void answers_of_the_kernel_are_classified(void **state)
{
	assert_int_equal(SAMPLER_EFAULT, EFAULT);
	assert_int_equal(SAMPLER_EEXIST, EEXIST);
	assert_int_equal(SAMPLER_ENOMEM, ENOMEM);
	assert_int_equal(stack_answer_of(0), STACK_STORED);
	assert_int_equal(stack_answer_of(16383), STACK_STORED);
	assert_int_equal(stack_answer_of(-EFAULT), STACK_ABSENT);
	assert_int_equal(stack_answer_of(-EEXIST), STACK_COLLIDED);
	assert_int_equal(stack_answer_of(-ENOMEM), STACK_MAP_FULL);
	assert_int_equal(stack_answer_of(-EINVAL), STACK_ERROR);
}

static void only_stacks_that_maps_cannot_hold_need_the_ring(void **state)
{
	assert_true(stack_answer_needs_ring(STACK_COLLIDED));
	assert_true(stack_answer_needs_ring(STACK_MAP_FULL));
	assert_false(stack_answer_needs_ring(STACK_STORED));
	assert_false(stack_answer_needs_ring(STACK_ABSENT));
}

static void absent_stacks_have_no_id(void **state)
{
	assert_int_equal(stack_id_of(0), 0);
	assert_int_equal(stack_id_of(77), 77);
	assert_int_equal(stack_id_of(-EFAULT), PILOTLIGHT_STACK_NONE);
	assert_int_equal(stack_id_of(-EINVAL), PILOTLIGHT_STACK_NONE);
}

static void stack_id_is_valid_in_its_own_window_only(void **state)
{
	const struct pilotlight_known_stack known = { .window = 7, .build_id_stack = 42 };

	assert_int_equal(known_build_id_stack(&known, 7), 42);
	assert_int_equal(known_build_id_stack(&known, 8), PILOTLIGHT_STACK_NONE);
	assert_int_equal(known_build_id_stack(&known, 9), PILOTLIGHT_STACK_NONE);
}

static void each_window_has_its_own_seed(void **state)
{
	for (uint32_t window = 0; window < 1000; window++) {
		assert_false(walk_seed_of(7, window) == walk_seed_of(7, window + 1));
		assert_false(walk_seed_of(7, window) == walk_seed_of(7, window + 4));
	}
}

static void stored_and_absent_stacks_are_in_the_maps(void **state)
{
	assert_true(stack_answer_is_in_maps(STACK_STORED));
	assert_true(stack_answer_is_in_maps(STACK_ABSENT));
	assert_false(stack_answer_is_in_maps(STACK_COLLIDED));
	assert_false(stack_answer_is_in_maps(STACK_MAP_FULL));
	assert_false(stack_answer_is_in_maps(STACK_ERROR));
}

static void entries_are_counted_within_bounds(void **state)
{
	assert_int_equal(stack_entries(-EFAULT, 8), 0);
	assert_int_equal(stack_entries(0, 8), 0);
	assert_int_equal(stack_entries(24, 8), 3);
	assert_int_equal(stack_entries(64, 32), 2);
	assert_int_equal(stack_entries(PILOTLIGHT_STACK_DEPTH * 8, 8), PILOTLIGHT_STACK_DEPTH);
	assert_int_equal(stack_entries(1 << 20, 8), PILOTLIGHT_STACK_DEPTH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_of_the_kernel_are_classified),
		cmocka_unit_test(only_stacks_that_maps_cannot_hold_need_the_ring),
		cmocka_unit_test(absent_stacks_have_no_id),
		cmocka_unit_test(stack_id_is_valid_in_its_own_window_only),
		cmocka_unit_test(each_window_has_its_own_seed),
		cmocka_unit_test(stored_and_absent_stacks_are_in_the_maps),
		cmocka_unit_test(entries_are_counted_within_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
