/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/array.h"
#include "tests/harness/failing_allocation.h"
#include "unwind/extent_set.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { LIMIT = 32 };

static void init(struct extent_set *set)
{
	*set = (struct extent_set){ 0 };
	assert_int_equal(extent_set_reserve(set, LIMIT, LIMIT), 0);
}

static void assert_extents(const struct extent_set *set, const struct extent *wanted, size_t count)
{
	uint64_t entries = 0;

	assert_int_equal(set->count, count);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(set->extents[i].start, wanted[i].start);
		assert_int_equal(set->extents[i].count, wanted[i].count);
		entries += wanted[i].count;
	}
	assert_int_equal(set->entries, entries);
}

#define assert_set(set, ...)                                          \
	assert_extents(set, ((const struct extent[]){ __VA_ARGS__ }), \
		sizeof((const struct extent[]){ __VA_ARGS__ }) / sizeof(struct extent))

static void neighbours_become_one(void **state)
{
	struct extent_set set;

	(void)state;
	init(&set);
	extent_set_add(&set, 10, 5);
	extent_set_add(&set, 30, 5);
	extent_set_add(&set, 0, 2);
	assert_set(&set, { 0, 2 }, { 10, 5 }, { 30, 5 });
	extent_set_add(&set, 15, 3); /* behind one */
	assert_set(&set, { 0, 2 }, { 10, 8 }, { 30, 5 });
	extent_set_add(&set, 28, 2); /* before one */
	assert_set(&set, { 0, 2 }, { 10, 8 }, { 28, 7 });
	extent_set_add(&set, 18, 10); /* between two */
	assert_set(&set, { 0, 2 }, { 10, 25 });
	extent_set_add(&set, 2, 8);
	assert_set(&set, { 0, 35 });
	extent_set_add(&set, 20, 0);
	assert_set(&set, { 0, 35 });
	extent_set_done(&set);
}

static void ends_of_the_range_may_be_free(void **state)
{
	struct extent_set set;
	uint32_t start;

	(void)state;
	init(&set);
	extent_set_add(&set, UINT32_MAX - 4, 5);
	extent_set_add(&set, 0, 5);
	assert_set(&set, { 0, 5 }, { UINT32_MAX - 4, 5 });
	extent_set_remove(&set, 0, 5);
	assert_true(extent_set_find(&set, 5, &start));
	assert_int_equal(start, UINT32_MAX - 4);
	extent_set_done(&set);
}

static void first_fit_is_found_and_taken(void **state)
{
	struct extent_set set;
	uint32_t start = 77;

	(void)state;
	init(&set);
	assert_false(extent_set_find(&set, 1, &start));
	extent_set_add(&set, 0, 2);
	extent_set_add(&set, 10, 5);
	extent_set_add(&set, 30, 9);
	assert_false(extent_set_find(&set, 10, &start));
	assert_int_equal(start, 77);
	assert_true(extent_set_find(&set, 3, &start));
	assert_int_equal(start, 10);
	extent_set_remove(&set, 10, 3);
	assert_set(&set, { 0, 2 }, { 13, 2 }, { 30, 9 });
	extent_set_remove(&set, 0, 2);
	assert_set(&set, { 13, 2 }, { 30, 9 });
	extent_set_remove(&set, 30, 9);
	assert_set(&set, { 13, 2 });
	extent_set_done(&set);
}

static void two_sets_are_seen_as_one(void **state)
{
	struct extent_set a, b;

	(void)state;
	init(&a);
	init(&b);
	assert_true(extent_set_union_has(&a, &b, 0));
	assert_false(extent_set_union_has(&a, &b, 1));
	extent_set_add(&a, 0, 3);
	extent_set_add(&b, 3, 4);
	extent_set_add(&a, 7, 1);
	extent_set_add(&b, 9, 5);
	assert_true(extent_set_union_has(&a, &b, 8));
	assert_true(extent_set_union_has(&b, &a, 8));
	assert_false(extent_set_union_has(&a, &b, 9));
	extent_set_move(&a, &b);
	assert_set(&a, { 0, 8 }, { 9, 5 });
	assert_int_equal(b.count, 0);
	assert_int_equal(b.entries, 0);
	extent_set_done(&a);
	extent_set_done(&b);
}

static void room_is_bounded(void **state)
{
	struct extent_set set = { 0 };

	(void)state;
	assert_int_equal(extent_set_reserve(&set, LIMIT + 1, LIMIT), -E2BIG);
	fail_allocation(0);
	assert_int_equal(extent_set_reserve(&set, 1, LIMIT), -ENOMEM);
	assert_true(allocation_failed());
	assert_null(set.extents);
	extent_set_done(&set);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(neighbours_become_one),
		cmocka_unit_test(ends_of_the_range_may_be_free),
		cmocka_unit_test(first_fit_is_found_and_taken),
		cmocka_unit_test(two_sets_are_seen_as_one),
		cmocka_unit_test(room_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
