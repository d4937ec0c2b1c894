/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/string_pool.h"
#include "tests/harness/failing_allocation.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void equal_strings_have_one_id(void **state)
{
	struct string_pool pool;
	uint32_t first, second, third;

	assert_int_equal(string_pool_init(&pool, 4096), 0);
	assert_int_equal(string_pool_intern(&pool, "main", 4, &first), 0);
	assert_int_equal(string_pool_intern(&pool, "mainly", 4, &second), 0);
	assert_int_equal(string_pool_intern(&pool, "mainly", 6, &third), 0);
	assert_int_equal(first, second);
	assert_int_not_equal(first, third);
	assert_string_equal(string_pool_get(&pool, first), "main");
	assert_string_equal(string_pool_get(&pool, third), "mainly");
	assert_string_equal(string_pool_get(&pool, 0), "");
	string_pool_done(&pool);
}

static void many_strings_survive_growth(void **state)
{
	struct string_pool pool;
	char text[32];
	uint32_t id;

	assert_int_equal(string_pool_init(&pool, 1 << 20), 0);
	for (int round = 0; round < 2; round++)
		for (uint32_t i = 1; i <= 10000; i++) {
			(void)snprintf(text, sizeof(text), "name %u", i);
			assert_int_equal(string_pool_intern(&pool, text, strlen(text), &id), 0);
			assert_int_equal(id, i);
			assert_string_equal(string_pool_get(&pool, id), text);
		}
	string_pool_done(&pool);
}

static void full_pool_refuses(void **state)
{
	struct string_pool pool;
	uint32_t id = 77;

	assert_int_equal(string_pool_init(&pool, 10), 0);
	assert_int_equal(string_pool_intern(&pool, "123456789", 9, &id), -E2BIG);
	assert_int_equal(id, 77);
	assert_int_equal(string_pool_intern(&pool, "12345678", 8, &id), 0);
	assert_int_equal(string_pool_intern(&pool, "x", 1, &id), -E2BIG);
	assert_int_equal(string_pool_intern(&pool, "12345678", 8, &id), 0);
	string_pool_done(&pool);
}

/* U+200B and U+202E both become U+FFFD. */
static void stored_strings_keep_their_ids(void **state)
{
	struct string_pool pool;
	uint32_t id;

	assert_int_equal(string_pool_init(&pool, 64), 0);
	assert_int_equal(string_pool_restore(&pool, "a\xe2\x80\x8b", 4, 1), 0);
	assert_int_equal(string_pool_restore(&pool, "a\xe2\x80\xae", 4, 2), 0);
	assert_string_equal(string_pool_get(&pool, 1), "a\xef\xbf\xbd");
	assert_string_equal(string_pool_get(&pool, 2), "a\xef\xbf\xbd");
	assert_int_equal(string_pool_intern(&pool, "a\xef\xbf\xbd", 4, &id), 0);
	assert_int_equal(id, 1);
	assert_int_equal(string_pool_restore(&pool, "main", 4, 3), 0);
	assert_int_equal(string_pool_restore(&pool, "main", 4, 4), -EEXIST);
	assert_int_equal(string_pool_restore(&pool, "a\xe2\x80\xae", 4, 5), -EEXIST);
	assert_int_equal(pool.count, 4);
	string_pool_done(&pool);
}

/* A full pool of names with soft hyphens, of two bytes each, becomes half as long again. */
static void stored_strings_may_become_longer(void **state)
{
	struct string_pool pool;
	uint32_t id;

	assert_int_equal(string_pool_init(&pool, 8), 0);
	assert_int_equal(string_pool_restore(&pool, "\xc2\xad\xc2\xad\xc2\xad", 6, 1), 0);
	assert_int_equal(pool.size, 11);
	assert_int_equal(string_pool_intern(&pool, "x", 1, &id), -E2BIG);
	assert_int_equal(string_pool_restore(&pool, "x", 1, 2), -E2BIG);
	string_pool_done(&pool);
}

static void failing_allocations_leave_the_pool_whole(void **state)
{
	struct string_pool pool;
	uint32_t id;
	size_t n;
	int r;

	for (n = 0;; n++) {
		fail_allocation(n);
		r = string_pool_init(&pool, 4096);
		if (r == 0) {
			r = string_pool_intern(&pool, "a name that needs room", 22, &id);
			if (r < 0)
				assert_int_equal(pool.count, 1);
			string_pool_done(&pool);
		}
		if (!allocation_failed())
			break;
		assert_int_equal(r, -ENOMEM);
	}
	assert_int_equal(r, 0);
	assert_true(n >= 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_strings_have_one_id),
		cmocka_unit_test(many_strings_survive_growth),
		cmocka_unit_test(full_pool_refuses),
		cmocka_unit_test(stored_strings_keep_their_ids),
		cmocka_unit_test(stored_strings_may_become_longer),
		cmocka_unit_test(failing_allocations_leave_the_pool_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
