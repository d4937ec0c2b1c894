/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "drain/walk_table.h"
#include "tests/harness/failing_allocation.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { LIMIT = 1000, DEPTHS = PILOTLIGHT_WALK_DEPTH + 1 };

/* Its frames are valid until the next call. */
static struct raw_sample walk_of(uint64_t hash, uint16_t count, enum pilotlight_walk_end end)
{
	static uint64_t frames[PILOTLIGHT_WALK_DEPTH];

	for (uint16_t i = 0; i < count; i++)
		frames[i] = hash * 1000 + i;
	return (struct raw_sample){
		.walk_hash = hash,
		.walk_count = count,
		.walk_end = end,
		.walk_frames = frames,
	};
}

static void stacks_are_found_by_their_hash(void **state)
{
	const struct walked_stack *stack;
	struct walk_table table;

	walk_table_init(&table, LIMIT);
	for (uint64_t hash = 1; hash <= 300; hash++) {
		struct raw_sample walk =
			walk_of(hash, (uint16_t)(hash * 7 % DEPTHS), hash % PILOTLIGHT_WALK_ENDS);

		assert_int_equal(walk_table_add(&table, &walk), 0);
	}
	for (uint64_t hash = 1; hash <= 300; hash++) {
		stack = walk_table_find(&table, hash);
		assert_non_null(stack);
		assert_int_equal(stack->count, hash * 7 % DEPTHS);
		assert_int_equal(stack->end, hash % PILOTLIGHT_WALK_ENDS);
		for (size_t i = 0; i < stack->count; i++)
			assert_int_equal(table.frames[stack->first_frame + i], hash * 1000 + i);
	}
	assert_null(walk_table_find(&table, 301));

	walk_table_clear(&table);
	assert_null(walk_table_find(&table, 1));
	walk_table_done(&table);
}

static void stacks_keep_the_frames_of_an_interpreter(void **state)
{
	struct pilotlight_runtime_frame frames[2] = { { .code = 5 }, { .code = 6, .place = 1 } };
	const struct walked_stack *stack;
	struct walk_table table;

	walk_table_init(&table, LIMIT);
	for (uint64_t hash = 1; hash <= 3; hash++) {
		struct raw_sample walk = walk_of(hash, 3, PILOTLIGHT_WALK_ROOT);

		frames[0].code = hash;
		walk.runtime_frames = frames;
		walk.runtime_count = hash - 1;
		walk.runtime_end = PILOTLIGHT_RUNTIME_DEEP;
		walk.runtime_file = 77;
		assert_int_equal(walk_table_add(&table, &walk), 0);
	}
	stack = walk_table_find(&table, 3);
	assert_int_equal(stack->runtime_count, 2);
	assert_int_equal(stack->runtime_end, PILOTLIGHT_RUNTIME_DEEP);
	assert_int_equal(stack->runtime_file, 77);
	assert_int_equal(table.runtime_frames[stack->first_runtime_frame].code, 3);
	assert_int_equal(table.runtime_frames[stack->first_runtime_frame + 1].place, 1);
	assert_int_equal(walk_table_find(&table, 1)->runtime_count, 0);
	walk_table_done(&table);
}

static void duplicate_stacks_are_kept_once(void **state)
{
	struct raw_sample first = walk_of(7, 3, 0), second = walk_of(7, 5, 1);
	struct walk_table table;

	walk_table_init(&table, LIMIT);
	assert_int_equal(walk_table_add(&table, &first), 0);
	assert_int_equal(walk_table_add(&table, &second), 0);
	assert_int_equal(table.count, 1);
	assert_int_equal(walk_table_find(&table, 7)->count, 3);
	walk_table_done(&table);
}

static void a_full_set_refuses_more(void **state)
{
	struct walk_table table;

	walk_table_init(&table, 16);
	for (uint64_t hash = 1; hash <= 17; hash++) {
		struct raw_sample walk = walk_of(hash, 1, 0);

		assert_int_equal(walk_table_add(&table, &walk), hash <= 16 ? 0 : -E2BIG);
	}
	assert_non_null(walk_table_find(&table, 16));
	assert_null(walk_table_find(&table, 17));
	walk_table_done(&table);
}

/* A quarter of them may be of the greatest depth. */
static void frames_are_bounded(void **state)
{
	const uint16_t depth = PILOTLIGHT_WALK_DEPTH;
	struct raw_sample walk;
	struct walk_table table;

	walk_table_init(&table, 16);
	for (uint64_t hash = 1; hash <= 5; hash++) {
		walk = walk_of(hash, depth, 0);
		assert_int_equal(walk_table_add(&table, &walk), hash <= 4 ? 0 : -E2BIG);
	}
	assert_int_equal(walk_table_find(&table, 4)->count, depth);
	assert_null(walk_table_find(&table, 5));
	assert_in_range(table.frame_capacity, 4 * depth, 16 * 256);
	walk = walk_of(6, 4, 0); /* what is left */
	assert_int_equal(walk_table_add(&table, &walk), 0);
	walk_table_done(&table);
}

static void failing_allocations_cost_the_stack_alone(void **state)
{
	struct raw_sample walk = walk_of(9, 200, 0);
	size_t n;
	int r;

	for (n = 0;; n++) {
		struct walk_table table;

		walk_table_init(&table, LIMIT);
		fail_allocation(n);
		r = walk_table_add(&table, &walk);
		if (!allocation_failed()) {
			walk_table_done(&table);
			break;
		}
		assert_int_equal(r, -ENOMEM);
		assert_null(walk_table_find(&table, 9));
		assert_int_equal(walk_table_add(&table, &walk), 0);
		assert_non_null(walk_table_find(&table, 9));
		walk_table_done(&table);
	}
	assert_int_equal(r, 0);
	assert_true(n >= 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stacks_keep_the_frames_of_an_interpreter),
		cmocka_unit_test(stacks_are_found_by_their_hash),
		cmocka_unit_test(duplicate_stacks_are_kept_once),
		cmocka_unit_test(a_full_set_refuses_more),
		cmocka_unit_test(frames_are_bounded),
		cmocka_unit_test(failing_allocations_cost_the_stack_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
