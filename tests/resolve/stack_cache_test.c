/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "resolve/stack_cache.h"

#include "base/array.h"
#include "resolve/resolver.h"
#include "tests/harness/failing_allocation.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const uint64_t ips[] = { 0x1000, 0x2000, 0x3000 };
static const struct resolved_frame frames[] = {
	{ .address = 0x10, .binary = 1 },
	{ .address = 0x20, .binary = 2 },
};

static struct cached_stack stack_of(uint64_t version)
{
	return (struct cached_stack){
		.version = version,
		.ips = ips,
		.ip_count = 3,
		.frames = frames,
		.frame_count = 2,
		.cut = RESOLVER_CUT_GARBAGE,
	};
}

static bool find(const struct stack_cache *cache, uint64_t version, const uint64_t *addresses,
	size_t count, struct cached_stack *found)
{
	*found = (struct cached_stack){
		.version = version,
		.ips = addresses,
		.ip_count = count,
	};
	return stack_cache_find(cache, found);
}

static void what_is_added_is_found_by_version_and_addresses(void **state)
{
	const uint64_t other[] = { 0x1000, 0x2000, 0x3001 };
	struct cached_stack stack = stack_of(7), found;
	struct stack_cache *cache;

	assert_int_equal(stack_cache_new(&stack_cache_default_limits, &cache), 0);
	assert_false(find(cache, 7, ips, 3, &found));
	assert_int_equal(stack_cache_add(cache, &stack), 0);
	assert_true(find(cache, 7, ips, 3, &found));
	assert_int_equal(found.frame_count, 2);
	assert_memory_equal(found.frames, frames, sizeof(frames));
	assert_int_equal(found.cut, RESOLVER_CUT_GARBAGE);
	assert_false(find(cache, 8, ips, 3, &found));
	assert_false(find(cache, 7, ips, 2, &found));
	assert_false(find(cache, 7, other, 3, &found));
	stack.process.exec_id = 1;
	assert_false(stack_cache_find(cache, &stack));
	stack_cache_free(cache);
}

static void a_better_answer_takes_the_place_of_the_first(void **state)
{
	struct cached_stack stack = stack_of(7), found;
	struct stack_cache *cache;

	assert_int_equal(stack_cache_new(&stack_cache_default_limits, &cache), 0);
	assert_int_equal(stack_cache_add(cache, &stack), 0);
	stack.frame_count = 1;
	stack.cut = RESOLVER_CUT_NONE;
	assert_int_equal(stack_cache_add(cache, &stack), 0);
	assert_true(find(cache, 7, ips, 3, &found));
	assert_int_equal(found.frame_count, 1);
	assert_int_equal(found.cut, RESOLVER_CUT_NONE);
	stack_cache_free(cache);
}

static void a_full_cache_starts_afresh(void **state)
{
	const struct stack_cache_limits limits = { .stacks = 4, .frames = 1000 };
	struct cached_stack found;
	struct stack_cache *cache;

	assert_int_equal(stack_cache_new(&limits, &cache), 0);
	for (uint64_t version = 1; version <= 5; version++) {
		struct cached_stack stack = stack_of(version);

		assert_int_equal(stack_cache_add(cache, &stack), 0);
		assert_true(find(cache, version, ips, 3, &found));
	}
	assert_false(find(cache, 4, ips, 3, &found));
	assert_true(find(cache, 5, ips, 3, &found));
	stack_cache_free(cache);
}

static void a_stack_longer_than_the_cache_is_not_kept(void **state)
{
	const struct stack_cache_limits limits = { .stacks = 4, .frames = 2 };
	struct cached_stack stack = stack_of(1), found;
	struct stack_cache *cache;

	assert_int_equal(stack_cache_new(&limits, &cache), 0);
	assert_int_equal(stack_cache_add(cache, &stack), 0);
	assert_false(find(cache, 1, ips, 3, &found));
	stack_cache_free(cache);
}

static void failing_allocations_are_reported(void **state)
{
	struct cached_stack stack = stack_of(1), found;
	struct stack_cache *cache = NULL;
	size_t n;
	int r;

	for (n = 0;; n++) {
		fail_allocation(n);
		r = stack_cache_new(&stack_cache_default_limits, &cache);
		if (r == 0) {
			r = stack_cache_add(cache, &stack);
			assert_int_equal(find(cache, 1, ips, 3, &found), r == 0);
		}
		stack_cache_free(cache);
		cache = NULL;
		if (!allocation_failed())
			break;
		assert_int_equal(r, -ENOMEM);
	}
	assert_int_equal(r, 0);
	assert_true(n >= 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_added_is_found_by_version_and_addresses),
		cmocka_unit_test(a_better_answer_takes_the_place_of_the_first),
		cmocka_unit_test(a_full_cache_starts_afresh),
		cmocka_unit_test(a_stack_longer_than_the_cache_is_not_kept),
		cmocka_unit_test(failing_allocations_are_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
