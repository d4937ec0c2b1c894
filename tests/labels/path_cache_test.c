/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "labels/path_cache.h"
#include "tests/harness/failing_allocation.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static int put(struct path_cache *cache, uint64_t id, const char *path)
{
	const struct path_key key = { .id = id };

	return path_cache_put(cache, &key, path);
}

static void assert_path(struct path_cache *cache, uint64_t id, const char *path)
{
	const struct path_key key = { .id = id };
	const char *found = path_cache_get(cache, &key);

	if (path)
		assert_string_equal(found, path);
	else
		assert_null(found);
}

static void what_is_put_is_found(void **state)
{
	const struct path_key process = { .id = 1, .start_ns = 2, .pid = 3 };
	struct path_cache cache;
	struct path_key other;

	assert_int_equal(path_cache_init(&cache, 100, 1000), 0);
	assert_path(&cache, 1, NULL);
	assert_int_equal(put(&cache, 1, "/a"), 0);
	assert_int_equal(path_cache_put(&cache, &process, "/b"), 0);
	assert_path(&cache, 1, "/a");
	assert_string_equal(path_cache_get(&cache, &process), "/b");
	other = process;
	other.start_ns++;
	assert_null(path_cache_get(&cache, &other));
	other = process;
	other.pid++;
	assert_null(path_cache_get(&cache, &other));
	/* Another path, a longer one, an empty one. */
	assert_int_equal(put(&cache, 1, "/a/longer/one"), 0);
	assert_path(&cache, 1, "/a/longer/one");
	assert_int_equal(put(&cache, 1, ""), 0);
	assert_path(&cache, 1, "");
	assert_int_equal(cache.path_bytes, 1 + 3);
	assert_int_equal(cache.evicted, 0);
	path_cache_done(&cache);
}

static void the_longest_unused_goes_first(void **state)
{
	struct path_cache cache;

	assert_int_equal(path_cache_init(&cache, 3, 1000), 0);
	for (uint64_t id = 1; id <= 3; id++)
		assert_int_equal(put(&cache, id, "/a"), 0);
	assert_path(&cache, 1, "/a");		   /* asked for */
	assert_int_equal(put(&cache, 2, "/b"), 0); /* told of again */
	assert_int_equal(put(&cache, 4, "/c"), 0);
	assert_path(&cache, 3, NULL);
	assert_int_equal(put(&cache, 5, "/d"), 0);
	assert_path(&cache, 1, NULL);
	assert_path(&cache, 2, "/b");
	assert_path(&cache, 4, "/c");
	assert_path(&cache, 5, "/d");
	assert_int_equal(cache.evicted, 2);
	path_cache_done(&cache);
}

static void bytes_are_bounded(void **state)
{
	struct path_cache cache;

	assert_int_equal(path_cache_init(&cache, 100, 10), 0);
	assert_int_equal(put(&cache, 1, "/45678901"), 0);
	assert_int_equal(put(&cache, 2, "/456789012"), -E2BIG);
	assert_path(&cache, 1, "/45678901");
	assert_int_equal(put(&cache, 2, "/3"), 0);
	assert_path(&cache, 1, NULL);
	assert_int_equal(put(&cache, 3, "/3"), 0);
	assert_int_equal(put(&cache, 4, "/3"), 0);
	/* One that grows makes the others go, and stays. */
	assert_int_equal(put(&cache, 3, "/456789"), 0);
	assert_path(&cache, 2, NULL);
	assert_path(&cache, 4, NULL);
	assert_path(&cache, 3, "/456789");
	assert_int_equal(cache.path_bytes, 8);
	path_cache_done(&cache);
	assert_int_equal(path_cache_init(&cache, 0, 10), 0);
	assert_int_equal(put(&cache, 1, "/"), -E2BIG);
	path_cache_done(&cache);
}

/* Many more than there is room for. With those that are asked for, 400 are newer than the one. */
static void churn_is_flat(void **state)
{
	struct path_cache cache;
	size_t bytes = 0;
	char path[32];

	assert_int_equal(path_cache_init(&cache, 500, 100000), 0);
	for (uint64_t id = 1; id <= 20000; id++) {
		(void)snprintf(path, sizeof(path), "/%06llu", (unsigned long long)id);
		assert_int_equal(put(&cache, id * 1000, path), 0);
		if (id > 200) {
			(void)snprintf(path, sizeof(path), "/%06llu", (unsigned long long)id - 200);
			assert_path(&cache, (id - 200) * 1000, path);
		}
		if (id == 1000)
			bytes = path_cache_bytes(&cache);
	}
	assert_int_equal(path_cache_bytes(&cache), bytes);
	assert_int_equal(cache.count, 500);
	path_cache_done(&cache);
}

static void failing_allocations_leave_the_cache_whole(void **state)
{
	struct path_cache cache;
	size_t n;
	int r;

	for (n = 0;; n++) {
		bool failed;

		fail_allocation(n);
		r = path_cache_init(&cache, 10, 100);
		if (r == 0)
			r = put(&cache, 1, "/a");
		if (r == 0)
			r = put(&cache, 1, "/b");
		failed = allocation_failed();
		if (failed) {
			assert_int_equal(r, -ENOMEM);
			if (cache.buckets)
				assert_int_equal(put(&cache, 2, "/c"), 0);
		}
		path_cache_done(&cache);
		if (!failed)
			break;
	}
	assert_int_equal(r, 0);
	assert_true(n >= 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_put_is_found),
		cmocka_unit_test(the_longest_unused_goes_first),
		cmocka_unit_test(bytes_are_bounded),
		cmocka_unit_test(churn_is_flat),
		cmocka_unit_test(failing_allocations_leave_the_cache_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
