/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "render/frame_tree.h"

#include "tests/harness/failing_allocation.h"
#include "tests/render/example_profile.h"

#include <errno.h>
#include <inttypes.h>

static struct frame_tree *tree_of(const struct profile *profile, uint64_t minimum)
{
	struct frame_tree *tree = NULL;

	assert_int_equal(frame_tree_new(profile, FRAME_BY_FUNCTION, minimum, &tree), 0);
	return tree;
}

/* "depth name self/total" a line; with what was elided, " (-count samples)". */
static void assert_tree(const struct frame_tree *tree, const char *expected)
{
	char text[8192], name[FRAME_NAME_BYTES];
	size_t size = 0;

	text[0] = '\0';
	for (size_t i = 0; i < tree->count; i++) {
		const struct frame *frame = &tree->frames[i];

		(void)frame_label_format(&tree->labels->items[frame->label], name);
		size += (size_t)snprintf(text + size, sizeof(text) - size,
			"%" PRIu32 " %s %" PRIu64 "/%" PRIu64, frame->depth, name, frame->self,
			frame->total);
		if (frame->elided_count > 0)
			size += (size_t)snprintf(text + size, sizeof(text) - size,
				" (-%zu %" PRIu64 ")", frame->elided_count, frame->elided);
		size += (size_t)snprintf(text + size, sizeof(text) - size, "\n");
		assert_true(size < sizeof(text));
	}
	assert_string_equal(text, expected);
}

/* Every frame's total is its own samples, its children's and what was elided. */
static void assert_conserved(const struct frame_tree *tree)
{
	uint64_t elided = 0;

	for (size_t i = 0; i < tree->count; i++) {
		uint64_t sum = tree->frames[i].self + tree->frames[i].elided;

		for (size_t j = i + 1; j < tree->count; j++) {
			if (tree->frames[j].depth <= tree->frames[i].depth)
				break;
			if (tree->frames[j].depth == tree->frames[i].depth + 1)
				sum += tree->frames[j].total;
		}
		assert_int_equal(sum, tree->frames[i].total);
		elided += tree->frames[i].elided;
	}
	assert_int_equal(elided, tree->elided);
}

static void addresses_of_one_name_are_one_frame(void **state)
{
	static const char *const stacks[] = {
		"c|1|x:main|l:work|l:leaf",
		"c|2|x:main@2|l:work@2|l:leaf",
		"c|4|x:main|l:work@3",
		"c|8|x:main|k:work",
	};
	_cleanup_(profile_freep) struct profile *profile = example_of(stacks, 4, false);
	_cleanup_(frame_tree_freep) struct frame_tree *tree = tree_of(profile, 0);

	assert_tree(tree, "0 all 0/15\n1 c 0/15\n2 main 0/15\n"
			  "3 work 8/8\n3 work 4/7\n4 leaf 3/3\n");
	assert_int_equal(tree->depth, 4);
	assert_conserved(tree);
}

static void inlined_frames_are_frames(void **state)
{
	static const char *const stacks[] = {
		"c|1|x:main|l:outer^inner|l:leaf",
		"c|2|x:main|l:outer@2^inner",
		"c|4|x:main|l:outer|l:leaf",
		"c|8|x:main|l:outer^inner^innermost",
	};
	_cleanup_(profile_freep) struct profile *profile = example_of(stacks, 4, false);
	_cleanup_(frame_tree_freep) struct frame_tree *tree = tree_of(profile, 0);

	/* The example's "@2" cuts the chain off: the name is that of the outermost frame. */
	assert_tree(tree, "0 all 0/15\n1 c 0/15\n2 main 0/15\n3 outer 2/15\n"
			  "4 inner 0/9\n5 innermost 8/8\n5 leaf 1/1\n4 leaf 4/4\n");
	assert_conserved(tree);
}

static void comms_and_losses_stand_on_the_root(void **state)
{
	static const char *const stacks[] = { "b|1|x:f", "a|2|x:f", "b|4", "|8|x:g" };
	_cleanup_(profile_freep) struct profile *profile = example_of(stacks, 4, false);
	_cleanup_(frame_tree_freep) struct frame_tree *tree = NULL;

	example_lose(profile, PILOTLIGHT_DROP_UNREAD, 16);
	example_lose(profile, PILOTLIGHT_DROP_IDLE, 32);
	tree = tree_of(profile, 0);
	assert_tree(tree, "0 all 0/31\n1 [lost: unread] 16/16\n1 [unknown] 0/8\n2 g 8/8\n"
			  "1 a 0/2\n2 f 2/2\n1 b 4/5\n2 f 1/1\n");
	assert_int_equal(tree->frames[0].total, frame_samples(profile));
	assert_conserved(tree);
}

/* Threads of one stack tree are told apart by comm, though they share its nodes. */
static void comms_share_stacks(void **state)
{
	static const char *const stacks[] = {
		"one|1|l:start|l:f|l:g",
		"two|2|l:start|l:f",
		"one|4|l:start|l:h",
		"two|8|l:start|l:f|l:g",
	};
	_cleanup_(profile_freep) struct profile *profile = example_of(stacks, 4, false);
	_cleanup_(frame_tree_freep) struct frame_tree *tree = tree_of(profile, 0);

	assert_tree(tree, "0 all 0/15\n1 one 0/5\n2 start 0/5\n3 f 0/1\n4 g 1/1\n3 h 4/4\n"
			  "1 two 0/10\n2 start 0/10\n3 f 2/10\n4 g 8/8\n");
}

static void small_frames_are_elided_after_merging(void **state)
{
	static const char *const stacks[] = {
		"c|10|x:main|l:big",
		"c|2|x:main|l:sum|l:a",
		"c|2|x:main@2|l:sum@2|l:b",
		"c|2|x:main|l:sum@3|l:c",
		"c|3|x:main|l:small|l:d",
		"c|1|x:main|l:tiny",
		"d|4|x:f",
	};
	_cleanup_(profile_freep) struct profile *profile = example_of(stacks, 7, false);
	_cleanup_(frame_tree_freep) struct frame_tree *tree = tree_of(profile, 5);

	assert_tree(tree, "0 all 0/24 (-1 4)\n1 c 0/20\n2 main 0/20 (-2 4)\n3 big 10/10\n"
			  "3 sum 0/6 (-3 6)\n");
	assert_int_equal(tree->elided_count, 6);
	assert_int_equal(tree->elided, 14);
	assert_conserved(tree);
}

static struct frame_tree *tree_within(
	const struct profile *profile, size_t frames, size_t label_bytes)
{
	const struct frame_budget budget = { .frames = frames, .label_bytes = label_bytes };
	struct frame_tree *tree = NULL;

	assert_int_equal(frame_tree_new_within(profile, FRAME_BY_FUNCTION, &budget, &tree), 0);
	return tree;
}

static void a_budget_leaves_the_smallest_out(void **state)
{
	static const char *const stacks[] = {
		"c|10|x:main|l:big",
		"c|3|x:main|l:small|l:d",
		"c|1|x:main|l:tiny",
	};
	_cleanup_(profile_freep) struct profile *profile = example_of(stacks, 3, false);
	_cleanup_(frame_tree_freep) struct frame_tree *all = tree_within(profile, 7, 100);
	_cleanup_(frame_tree_freep) struct frame_tree *most = tree_within(profile, 6, 100);
	_cleanup_(frame_tree_freep) struct frame_tree *few = tree_within(profile, 5, 100);
	_cleanup_(frame_tree_freep) struct frame_tree *short_names = tree_within(profile, 7, 11);
	_cleanup_(frame_tree_freep) struct frame_tree *none = tree_within(profile, 0, 0);

	assert_int_equal(all->minimum, 1);
	assert_int_equal(all->elided, 0);
	assert_tree(most, "0 all 0/14\n1 c 0/14\n2 main 0/14 (-1 1)\n3 big 10/10\n"
			  "3 small 0/3\n4 d 3/3\n");
	assert_int_equal(most->minimum, 2);
	assert_tree(few, "0 all 0/14\n1 c 0/14\n2 main 0/14 (-2 4)\n3 big 10/10\n");
	assert_int_equal(few->minimum, 4);
	assert_int_equal(few->depth, 3);
	/* "c", "main" and "big". */
	assert_int_equal(short_names->count, 4);
	assert_tree(none, "0 all 0/14 (-1 14)\n");
	assert_conserved(most);
	assert_conserved(few);
}

/* With the path to a child of "main", as a question has it. */
static struct frame_tree *tree_below(const struct profile *profile, size_t frames, const char *part)
{
	_cleanup_(frame_tree_freep) struct frame_tree *whole = tree_of(profile, 0);
	const char *names[] = { "c", "main", part };
	char below[64] = "", name[FRAME_NAME_BYTES];
	const struct frame_budget budget = {
		.frames = frames, .label_bytes = 1000, .below = below
	};
	struct frame_tree *tree = NULL;

	for (size_t i = 0; i < 3; i++) {
		uint32_t hash = 0;

		for (size_t j = 0; j < whole->labels->count; j++) {
			(void)frame_label_format(&whole->labels->items[j], name);
			if (strcmp(name, names[i]) == 0)
				hash = frame_label_hash(&whole->labels->items[j]);
		}
		(void)snprintf(below + strlen(below), sizeof(below) - strlen(below), "%s%" PRIx32,
			i > 0 ? "." : "", hash);
	}
	assert_int_equal(frame_tree_new_within(profile, FRAME_BY_FUNCTION, &budget, &tree), 0);
	return tree;
}

static void small_frames_below_a_frame_are_kept(void **state)
{
	static const char *const stacks[] = {
		"c|40|x:main|l:big",
		"c|4|x:main|l:part|l:one",
		"c|2|x:main|l:part|l:two",
		"c|1|x:main|l:part|l:three",
		"c|3|x:main|l:other|l:one",
		"c|2|x:main|l:other|l:two",
		"c|1|x:main|l:other|l:three",
		"d|1|x:f",
	};
	_cleanup_(profile_freep) struct profile *profile = example_of(stacks, 8, false);
	_cleanup_(frame_tree_freep) struct frame_tree *part = tree_below(profile, 8, "part");
	_cleanup_(frame_tree_freep) struct frame_tree *most = tree_below(profile, 6, "part");
	_cleanup_(frame_tree_freep) struct frame_tree *unknown = tree_below(profile, 8, "x");
	_cleanup_(frame_tree_freep) struct frame_tree *path = tree_below(profile, 3, "part");
	_cleanup_(frame_tree_freep) struct frame_tree *all = tree_below(profile, 14, "part");

	assert_tree(part, "0 all 0/54 (-1 1)\n1 c 0/53\n2 main 0/53 (-1 6)\n3 big 40/40\n"
			  "3 part 0/7\n4 one 4/4\n4 three 1/1\n4 two 2/2\n");
	/* The path is kept, too. */
	assert_tree(most, "0 all 0/54 (-1 1)\n1 c 0/53\n2 main 0/53 (-2 46)\n"
			  "3 part 0/7 (-1 1)\n4 one 4/4\n4 two 2/2\n");
	/* No frames are kept for what is not there. */
	assert_tree(unknown, "0 all 0/54 (-1 1)\n1 c 0/53\n2 main 0/53\n3 big 40/40\n"
			     "3 other 0/6 (-3 6)\n3 part 0/7 (-2 3)\n4 one 4/4\n");
	/* There is no room for it. */
	assert_tree(path, "0 all 0/54 (-2 54)\n");
	assert_int_equal(all->elided, 0);
	assert_conserved(part);
	assert_conserved(most);
}

static void paths_are_checked(void **state)
{
	static const char *const wrong[] = { "", ".", "1.", ".1", "1..2", "g", "1.G", "123456789",
		"1 " };

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_false(frame_path_is_valid(wrong[i]));
	assert_true(frame_path_is_valid("0"));
	assert_true(frame_path_is_valid("12345678.abcdef"));
}

static void many_siblings_are_sorted_and_merged(void **state)
{
	_cleanup_(profile_freep) struct profile *profile = example_empty();
	_cleanup_(frame_tree_freep) struct frame_tree *tree = NULL;
	char stack[64];

	for (uint32_t i = 0; i < 3000; i++) {
		(void)snprintf(stack, sizeof(stack), "c|1|x:main|l:f%u@%u", i * 7919 % 1000, i);
		example_add(profile, stack);
	}
	tree = tree_of(profile, 0);
	assert_int_equal(tree->count, 1003);
	for (size_t i = 3; i < tree->count; i++) {
		assert_int_equal(tree->frames[i].total, 3);
		if (i > 3)
			assert_true(tree->frames[i - 1].label < tree->frames[i].label);
	}
}

static void deep_stacks_are_as_deep(void **state)
{
	enum { DEPTH = 20000 };
	_cleanup_(profile_freep) struct profile *profile = example_empty();
	_cleanup_(frame_tree_freep) struct frame_tree *tree = NULL;
	struct profile_sample sample = { .count = 3 };
	uint32_t location = example_location(profile, "x:recurse", "c");

	example_add(profile, "c|1|x:main");
	for (int i = 0; i < DEPTH; i++)
		assert_int_equal(profile_add_node(profile, sample.node, location, &sample.node), 0);
	assert_int_equal(profile_add_sample(profile, &sample), 0);
	tree = tree_of(profile, 0);
	assert_int_equal(tree->depth, DEPTH + 1);
	assert_int_equal(tree->count, DEPTH + 3);
	assert_int_equal(tree->frames[tree->count - 1].self, 3);
}

static void binary_does_not_depend_on_order(void **state)
{
	static const char *const stacks[] = { "c|1|l:f", "c|1|m:f", "c|1|l:f@2" };

	for (int backwards = 0; backwards < 2; backwards++) {
		_cleanup_(profile_freep) struct profile *profile = example_of(stacks, 3, backwards);
		_cleanup_(frame_tree_freep) struct frame_tree *tree = tree_of(profile, 0);

		assert_int_equal(tree->count, 3);
		assert_int_equal(tree->frames[1].binary, FRAME_NONE);
		assert_int_equal(tree->frames[2].binary,
			example_binary(profile, BINARY_LIBRARY, "/opt/lib/libother.so"));
	}
}

static void samples_of_nothing_leave_no_frame(void **state)
{
	static const char *const stacks[] = { "c|0|x:main|x:f", "c|1|x:main", "d|0|x:f" };
	_cleanup_(profile_freep) struct profile *profile = example_of(stacks, 3, false);
	_cleanup_(frame_tree_freep) struct frame_tree *tree = tree_of(profile, 0);

	assert_tree(tree, "0 all 0/1\n1 c 0/1\n2 main 1/1\n");
}

static int stop_at_the_third(void *context, const struct frame *frame)
{
	int *count = context;

	return ++*count == 3 ? -EINTR : 0;
}

static void visitor_can_end_the_walk(void **state)
{
	_cleanup_(profile_freep) struct profile *profile = example_machine(false);
	_cleanup_(frame_labels_freep) struct frame_labels *labels = NULL;
	int count = 0;

	assert_int_equal(frame_labels_new(profile, FRAME_BY_FUNCTION, &labels), 0);
	assert_int_equal(
		frame_walk(profile, labels, NULL, 0, NULL, stop_at_the_third, &count), -EINTR);
	assert_int_equal(count, 3);
}

static void failing_allocations_are_reported(void **state)
{
	_cleanup_(profile_freep) struct profile *profile = example_machine(false);
	struct frame_tree *tree = NULL;
	char stack[64];

	/* Enough siblings for the sort to want memory of its own. */
	for (int i = 0; i < 100; i++) {
		(void)snprintf(stack, sizeof(stack), "c|1|x:main|l:f%d", i);
		example_add(profile, stack);
	}
	assert_true(FAIL_EACH_ALLOCATION(frame_tree_new(profile, FRAME_BY_FUNCTION, 0, &tree),
			    -ENOMEM, !tree, 0) >= 20);
	assert_conserved(tree);
	frame_tree_free(tree);
	tree = NULL;
	assert_true(FAIL_EACH_ALLOCATION(frame_tree_new_within(profile, FRAME_BY_FUNCTION,
						 &(struct frame_budget){ 9, 1000, NULL }, &tree),
			    -ENOMEM, !tree, 0) >= 20);
	assert_in_range(tree->count, 1, 9);
	assert_conserved(tree);
	frame_tree_free(tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses_of_one_name_are_one_frame),
		cmocka_unit_test(inlined_frames_are_frames),
		cmocka_unit_test(comms_and_losses_stand_on_the_root),
		cmocka_unit_test(comms_share_stacks),
		cmocka_unit_test(small_frames_are_elided_after_merging),
		cmocka_unit_test(a_budget_leaves_the_smallest_out),
		cmocka_unit_test(small_frames_below_a_frame_are_kept),
		cmocka_unit_test(paths_are_checked),
		cmocka_unit_test(many_siblings_are_sorted_and_merged),
		cmocka_unit_test(deep_stacks_are_as_deep),
		cmocka_unit_test(binary_does_not_depend_on_order),
		cmocka_unit_test(samples_of_nothing_leave_no_frame),
		cmocka_unit_test(visitor_can_end_the_walk),
		cmocka_unit_test(failing_allocations_are_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
