/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "render/flamegraph_cut.h"

#include "tests/harness/failing_allocation.h"
#include "tests/render/example_profile.h"

#include <errno.h>

static struct frame_tree *tree_of(const struct profile *profile)
{
	struct frame_tree *tree = NULL;

	assert_int_equal(frame_tree_new(profile, FRAME_BY_FUNCTION, 0, &tree), 0);
	return tree;
}

static struct flamegraph_cut cut_of(
	const struct frame_tree *tree, uint64_t minimum, uint64_t row_minimum)
{
	struct flamegraph_cut cut;

	assert_int_equal(flamegraph_cut_init(&cut, tree, minimum, row_minimum), 0);
	return cut;
}

static size_t drawn_of(const struct frame_tree *tree, const struct flamegraph_cut *cut)
{
	size_t drawn = 0;

	for (size_t i = 0; i < tree->count; i++)
		drawn += flamegraph_cut_draws(cut, &tree->frames[i]);
	return drawn;
}

static const char *const stacks[] = {
	"c|10|x:main|l:big",
	"c|2|x:main|l:small|l:a|l:b",
	"c|3|x:main|l:small|l:d",
	"c|1|x:main|l:tiny",
	"d|4|x:f|x:g|x:h|x:i",
};

static void narrow_frames_are_counted_with_what_stands_on_them(void **state)
{
	_cleanup_(profile_freep) struct profile *profile = example_of(stacks, 5, false);
	_cleanup_(frame_tree_freep) struct frame_tree *tree = tree_of(profile);
	struct flamegraph_cut all = cut_of(tree, 0, 0), most = cut_of(tree, 4, 0);

	assert_int_equal(drawn_of(tree, &all), tree->count);
	assert_int_equal(all.narrow_count, 0);
	assert_int_equal(all.depth, tree->depth);
	/* "tiny", "a" and "d"; "b" stands on "a". */
	assert_int_equal(drawn_of(tree, &most), tree->count - 4);
	assert_int_equal(most.narrow_count, 3);
	assert_int_equal(most.narrow, 6);
}

static void rows_that_hold_little_are_not_drawn(void **state)
{
	_cleanup_(profile_freep) struct profile *profile = example_of(stacks, 5, false);
	_cleanup_(frame_tree_freep) struct frame_tree *tree = tree_of(profile);
	/* The fourth row above the root holds 5 + 4 samples, the fifth 2 + 4. */
	struct flamegraph_cut cut = cut_of(tree, 0, 7);

	assert_int_equal(tree->depth, 5);
	assert_int_equal(cut.depth, 4);
	assert_int_equal(cut.narrow_count, 2);
	assert_int_equal(cut.narrow, 6);
	cut = cut_of(tree, 0, 1000);
	assert_int_equal(cut.depth, 0);
	assert_int_equal(drawn_of(tree, &cut), 1);
	assert_int_equal(cut.narrow, 20);
}

static void a_picture_has_a_bound(void **state)
{
	_cleanup_(profile_freep) struct profile *profile = example_empty();
	_cleanup_(frame_tree_freep) struct frame_tree *tree = NULL;
	struct flamegraph_cut cut;
	char stack[64];

	for (int i = 0; i < 12000; i++) {
		(void)snprintf(stack, sizeof(stack), "c|%d|x:f%d", 1 + i % 4, i);
		example_add(profile, stack);
	}
	tree = tree_of(profile);
	cut = cut_of(tree, 1, 0);
	assert_int_equal(cut.minimum, 2);
	assert_int_equal(drawn_of(tree, &cut), 9002);
	assert_int_equal(cut.narrow_count, 3000);
}

static void an_empty_tree_has_a_root(void **state)
{
	_cleanup_(profile_freep) struct profile *profile = example_empty();
	_cleanup_(frame_tree_freep) struct frame_tree *tree = tree_of(profile);
	struct flamegraph_cut cut = cut_of(tree, 0, 0);

	assert_int_equal(drawn_of(tree, &cut), 1);
	assert_int_equal(cut.depth, 0);
}

static void failing_allocations_are_reported(void **state)
{
	_cleanup_(profile_freep) struct profile *profile = example_of(stacks, 5, false);
	_cleanup_(frame_tree_freep) struct frame_tree *tree = tree_of(profile);
	struct flamegraph_cut cut;

	assert_true(
		FAIL_EACH_ALLOCATION(flamegraph_cut_init(&cut, tree, 1, 1), -ENOMEM, true, 0) >= 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(narrow_frames_are_counted_with_what_stands_on_them),
		cmocka_unit_test(rows_that_hold_little_are_not_drawn),
		cmocka_unit_test(a_picture_has_a_bound),
		cmocka_unit_test(an_empty_tree_has_a_root),
		cmocka_unit_test(failing_allocations_are_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
