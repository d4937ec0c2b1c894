/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "drain/walk_table.h"
#include "tests/harness/failing_allocation.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { LIMIT = 1000 };

struct record {
	struct pilotlight_ring_walk walk;
	uint64_t frames[PILOTLIGHT_WALK_DEPTH];
};

static struct record record_of(uint64_t hash, uint16_t count, uint8_t end)
{
	struct record record = {
		.walk = {
			.header = { .kind = PILOTLIGHT_RING_WALK },
			.hash = hash,
			.count = count,
			.end = end,
		},
	};

	for (uint16_t i = 0; i < count; i++)
		record.frames[i] = hash * 1000 + i;
	return record;
}

static size_t size_of(const struct record *record)
{
	return sizeof(record->walk) + record->walk.count * sizeof(uint64_t);
}

static void stacks_are_found_by_their_hash(void **state)
{
	const struct walked_stack *stack;
	struct walk_table table;

	(void)state;
	walk_table_init(&table, LIMIT);
	for (uint64_t hash = 1; hash <= 300; hash++) {
		struct record record = record_of(
			hash, (uint16_t)(hash % 256), (uint8_t)(hash % PILOTLIGHT_WALK_ENDS));

		assert_int_equal(walk_table_add(&table, &record, size_of(&record)), 0);
	}
	for (uint64_t hash = 1; hash <= 300; hash++) {
		stack = walk_table_find(&table, hash);
		assert_non_null(stack);
		assert_int_equal(stack->count, hash % 256);
		assert_int_equal(stack->end, hash % PILOTLIGHT_WALK_ENDS);
		for (size_t i = 0; i < stack->count; i++)
			assert_int_equal(table.frames[stack->first_frame + i], hash * 1000 + i);
	}
	assert_null(walk_table_find(&table, 301));

	walk_table_clear(&table);
	assert_null(walk_table_find(&table, 1));
	walk_table_done(&table);
}

static void what_comes_twice_is_kept_once(void **state)
{
	struct record first = record_of(7, 3, 0), second = record_of(7, 5, 1);
	struct walk_table table;

	(void)state;
	walk_table_init(&table, LIMIT);
	assert_int_equal(walk_table_add(&table, &first, size_of(&first)), 0);
	assert_int_equal(walk_table_add(&table, &second, size_of(&second)), 0);
	assert_int_equal(table.count, 1);
	assert_int_equal(walk_table_find(&table, 7)->count, 3);
	walk_table_done(&table);
}

static void records_that_lie_are_refused(void **state)
{
	struct record good = record_of(7, 3, 0), bad;
	struct walk_table table;

	(void)state;
	walk_table_init(&table, LIMIT);
	for (size_t size = 0; size < size_of(&good); size++)
		assert_int_equal(walk_table_add(&table, &good, size), -EINVAL);
	assert_int_equal(walk_table_add(&table, &good, size_of(&good) + 8), -EINVAL);
	bad = good;
	bad.walk.end = PILOTLIGHT_WALK_ENDS;
	assert_int_equal(walk_table_add(&table, &bad, size_of(&bad)), -EINVAL);
	bad = good;
	bad.walk.count = PILOTLIGHT_WALK_DEPTH + 1;
	assert_int_equal(walk_table_add(&table, &bad, sizeof(bad) + 8), -EINVAL);
	assert_int_equal(table.count, 0);
	walk_table_done(&table);
}

static void beyond_the_bound_nothing_is_added(void **state)
{
	struct walk_table table;

	(void)state;
	walk_table_init(&table, 16);
	for (uint64_t hash = 1; hash <= 17; hash++) {
		struct record record = record_of(hash, 1, 0);

		assert_int_equal(
			walk_table_add(&table, &record, size_of(&record)), hash <= 16 ? 0 : -E2BIG);
	}
	assert_non_null(walk_table_find(&table, 16));
	assert_null(walk_table_find(&table, 17));
	walk_table_done(&table);
}

static void failing_allocations_cost_the_stack_alone(void **state)
{
	struct record record = record_of(9, 200, 0);
	size_t n;
	int r;

	(void)state;
	for (n = 0;; n++) {
		struct walk_table table;

		walk_table_init(&table, LIMIT);
		fail_allocation(n);
		r = walk_table_add(&table, &record, size_of(&record));
		if (!allocation_failed()) {
			walk_table_done(&table);
			break;
		}
		assert_int_equal(r, -ENOMEM);
		assert_null(walk_table_find(&table, 9));
		assert_int_equal(walk_table_add(&table, &record, size_of(&record)), 0);
		assert_non_null(walk_table_find(&table, 9));
		walk_table_done(&table);
	}
	assert_int_equal(r, 0);
	assert_true(n >= 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stacks_are_found_by_their_hash),
		cmocka_unit_test(what_comes_twice_is_kept_once),
		cmocka_unit_test(records_that_lie_are_refused),
		cmocka_unit_test(beyond_the_bound_nothing_is_added),
		cmocka_unit_test(failing_allocations_cost_the_stack_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
