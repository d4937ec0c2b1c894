/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "render/stack_branches.h"

#include "tests/harness/failing_allocation.h"
#include "tests/render/example_profile.h"

#include <errno.h>

/* The samples below the location, over all branches; each has the sum of its children and itself.
 */
static uint64_t total_of(const struct stack_branches *branches, uint32_t location)
{
	uint64_t sum = 0;

	for (uint32_t i = 1; i < branches->count; i++)
		if (branches->items[i].location == location)
			sum += branches->items[i].total;
	return sum;
}

static size_t count_children(const struct stack_branches *branches, uint32_t parent)
{
	size_t count = 0;

	for (uint32_t i = branches->items[parent].first_child; i;
		i = branches->items[i].next_sibling) {
		assert_true(i > parent && i < branches->count);
		count++;
	}
	return count;
}

static const char *const stacks[] = {
	"c|1|x:main|x:a|x:b",
	"c|2|x:main|x:a",
	"c|4|x:main|x:c|x:b",
	"c|8|x:other",
	"c|16",
};

static void all_samples_are_summed_up(void **state)
{
	_cleanup_(profile_freep) struct profile *profile = example_of(stacks, 5, false);
	_cleanup_(stack_branches_done) struct stack_branches branches = { 0 };

	assert_int_equal(stack_branches_init(&branches, profile), 0);
	stack_branches_fill(&branches, 0, profile->samples.count);
	assert_int_equal(branches.count, 7);
	assert_int_equal(branches.items[STACK_ROOT].total, 31);
	assert_int_equal(count_children(&branches, STACK_ROOT), 2);
	assert_int_equal(total_of(&branches, example_location(profile, "x:main", "c")), 7);
	assert_int_equal(total_of(&branches, example_location(profile, "x:a", "c")), 3);
	assert_int_equal(total_of(&branches, example_location(profile, "x:b", "c")), 5);
	assert_int_equal(total_of(&branches, example_location(profile, "x:other", "c")), 8);
}

static void each_filling_forgets_the_last(void **state)
{
	_cleanup_(profile_freep) struct profile *profile = example_of(stacks, 5, false);
	_cleanup_(stack_branches_done) struct stack_branches branches = { 0 };
	static const uint32_t chosen[] = { 2, 0 };

	assert_int_equal(stack_branches_init(&branches, profile), 0);
	for (int round = 0; round < 3; round++) {
		stack_branches_fill(&branches, 3, 1);
		assert_int_equal(branches.count, 2);
		assert_int_equal(branches.items[STACK_ROOT].total, 8);
		stack_branches_fill_chosen(&branches, chosen, 2);
		assert_int_equal(branches.count, 6);
		assert_int_equal(branches.items[STACK_ROOT].total, 5);
		assert_int_equal(total_of(&branches, example_location(profile, "x:main", "c")), 5);
		stack_branches_fill(&branches, 0, 0);
		assert_int_equal(branches.count, 1);
		assert_int_equal(branches.items[STACK_ROOT].total, 0);
		/* The next filling would run out of numbers. */
		branches.base = UINT32_MAX - 8;
	}
}

static void many_chosen_samples(void **state)
{
	_cleanup_(profile_freep) struct profile *profile = example_empty();
	_cleanup_(stack_branches_done) struct stack_branches branches = { 0 };
	uint32_t chosen[200];
	char stack[64];

	for (uint32_t i = 0; i < 400; i++) {
		(void)snprintf(stack, sizeof(stack), "c|%u|x:main|x:f%u", i + 1, i);
		example_add(profile, stack);
	}
	for (uint32_t i = 0; i < 200; i++)
		chosen[i] = 399 - 2 * i;
	assert_int_equal(stack_branches_init(&branches, profile), 0);
	stack_branches_fill_chosen(&branches, chosen, 200);
	assert_int_equal(branches.count, 202);
	assert_int_equal(branches.items[STACK_ROOT].total, 200 * 201);
	assert_int_equal(count_children(&branches, branches.items[STACK_ROOT].first_child), 200);
}

static void failing_allocations_leave_nothing(void **state)
{
	_cleanup_(profile_freep) struct profile *profile = example_of(stacks, 5, false);
	struct stack_branches branches = { 0 };

	assert_int_equal(FAIL_EACH_ALLOCATION(stack_branches_init(&branches, profile), -ENOMEM,
				 !branches.items, 0),
		2);
	stack_branches_done(&branches);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_samples_are_summed_up),
		cmocka_unit_test(each_filling_forgets_the_last),
		cmocka_unit_test(many_chosen_samples),
		cmocka_unit_test(failing_allocations_leave_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
