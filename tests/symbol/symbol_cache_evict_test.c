/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which entries a store evicts, and how many. */
#include "symbol/symbol_cache.h"
#include "tests/symbol/symbol_cache_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { BLOCK_BYTES = 4096, ENOUGH_BYTES = 1 << 30 };

static void least_recently_used_are_evicted(void **state)
{
	struct symbol_cache_counters counters;
	struct cache_fixture fixture;

	/* Room for four files of two blocks each. */
	assert_true(cache_fixture_open(&fixture, 8 * BLOCK_BYTES));
	for (uint32_t i = 0; i < 4; i++) {
		struct symbol_identity identity = cache_fixture_identity(i);

		assert_int_equal(cache_fixture_store(fixture.cache, &identity, 1, 5000), 0);
		assert_int_equal(cache_fixture_age(&fixture, &identity, 100000 - i), 0);
	}
	/* 0 is used again, so the next two stores evict 1 and 2. */
	for (uint32_t i = 0; i < 6; i += i ? 1 : 4) {
		struct symbol_identity identity = cache_fixture_identity(i);

		if (i == 0)
			assert_int_equal(cache_fixture_find(fixture.cache, &identity), 1);
		else
			assert_int_equal(cache_fixture_store(fixture.cache, &identity, 1, 5000), 0);
	}
	for (uint32_t i = 0; i < 6; i++) {
		struct symbol_identity identity = cache_fixture_identity(i);

		assert_int_equal(cache_fixture_has(&fixture, &identity), i != 1 && i != 2);
	}
	symbol_cache_counters(fixture.cache, &counters);
	assert_int_equal(counters.evicted, 2);
	assert_int_equal(counters.evicted_bytes, 4 * BLOCK_BYTES);
	cache_fixture_close(&fixture);
}

/* Even if the other entries have times in the future. */
static void the_stored_entry_is_not_evicted(void **state)
{
	struct cache_fixture fixture;

	assert_true(cache_fixture_open(&fixture, 2 * BLOCK_BYTES));
	for (uint32_t i = 0; i < 3; i++) {
		struct symbol_identity identity = cache_fixture_identity(i);

		assert_int_equal(cache_fixture_store(fixture.cache, &identity, 1, 10), 0);
		assert_int_equal(cache_fixture_find(fixture.cache, &identity), 1);
		assert_int_equal(cache_fixture_age(&fixture, &identity, -3000 - (time_t)i), 0);
	}
	for (uint32_t i = 0; i < 3; i++) {
		struct symbol_identity identity = cache_fixture_identity(i);

		assert_int_equal(cache_fixture_has(&fixture, &identity), i != 0);
	}
	cache_fixture_close(&fixture);
}

/* Entries that were used or replaced after the scan are not evicted. */
static void use_by_other_processes_counts(void **state)
{
	struct symbol_identity first = cache_fixture_identity(1),
			       second = cache_fixture_identity(2);
	struct symbol_identity third = cache_fixture_identity(3);
	struct symbol_identity small = cache_fixture_identity(4), last = cache_fixture_identity(5);
	struct cache_fixture fixture;
	struct symbol_cache *other;

	assert_true(cache_fixture_open(&fixture, 32 * BLOCK_BYTES));
	assert_int_equal(symbol_cache_open(fixture.folder, ENOUGH_BYTES, &other, NULL), 0);
	assert_int_equal(cache_fixture_store(other, &first, 1, 9 * BLOCK_BYTES), 0);
	assert_int_equal(cache_fixture_age(&fixture, &first, 9000), 0);
	assert_int_equal(cache_fixture_store(other, &second, 1, 9 * BLOCK_BYTES), 0);
	assert_int_equal(cache_fixture_age(&fixture, &second, 8000), 0);
	assert_int_equal(cache_fixture_store(other, &third, 1, 9 * BLOCK_BYTES), 0);
	assert_int_equal(cache_fixture_age(&fixture, &third, 7000), 0);
	/* This store scans the folder, which is a block short of full. */
	assert_int_equal(cache_fixture_store(fixture.cache, &small, 1, 10), 0);
	assert_int_equal(cache_fixture_find(other, &first), 1);
	assert_int_equal(cache_fixture_store(other, &second, 2, 9 * BLOCK_BYTES), 0);
	assert_int_equal(cache_fixture_store(fixture.cache, &last, 1, BLOCK_BYTES), 0);
	assert_true(cache_fixture_has(&fixture, &first));
	assert_true(cache_fixture_has(&fixture, &second));
	assert_false(cache_fixture_has(&fixture, &third));
	symbol_cache_free(other);
	cache_fixture_close(&fixture);
}

/* Longer than a fixture can be: its strings end with zeros. */
static int store_large(
	struct symbol_cache *cache, const struct symbol_identity *identity, size_t size)
{
	_cleanup_free_ uint8_t *bytes = calloc(1, size);
	struct symbol_file_fixture file;
	struct pilotlight_symbol_section *strings;

	assert_non_null(bytes);
	cache_fixture_build(&file, identity, 1, 10);
	strings = symbol_file_fixture_section(&file, PILOTLIGHT_SYMBOL_STRINGS);
	strings->bytes = size - strings->offset;
	symbol_file_fixture_header(&file)->file_bytes = size;
	memcpy(bytes, file.bytes, file.size);
	symbol_file_fixture_seal(bytes, size);
	return cache_fixture_commit_bytes(cache, identity, bytes, size);
}

/* A cache full of small entries does not grow by a large one, however many it costs. */
static void a_store_evicts_as_many_bytes_as_it_adds(void **state)
{
	enum { SMALL = SYMBOL_CACHE_EVICTIONS_MAX + 256 };
	struct symbol_identity large = cache_fixture_identity(SMALL);
	struct symbol_cache_counters counters;
	struct cache_fixture fixture;
	uint64_t entries, bytes;

	assert_true(cache_fixture_open(&fixture, SMALL * BLOCK_BYTES));
	for (uint32_t i = 0; i < SMALL; i++) {
		struct symbol_identity identity = cache_fixture_identity(i);

		assert_int_equal(cache_fixture_store(fixture.cache, &identity, 1, 10), 0);
	}
	assert_int_equal(store_large(fixture.cache, &large, (SMALL - 100) * BLOCK_BYTES), 0);
	assert_true(cache_fixture_has(&fixture, &large));
	symbol_cache_counters(fixture.cache, &counters);
	assert_in_range(counters.evicted, SMALL - 100, SMALL);
	assert_int_equal(symbol_cache_size(fixture.cache, &entries, &bytes), 0);
	assert_int_equal(entries, SMALL + 1 - counters.evicted);
	assert_in_range(bytes, 1, SMALL * BLOCK_BYTES);
	cache_fixture_close(&fixture);
}

/* An owner that cannot wait: a large store takes several calls to make up for. */
static void one_store_evicts_a_limited_number(void **state)
{
	enum { SMALL = 3 * SYMBOL_CACHE_EVICTIONS_MAX, LARGE = SMALL - 10 };
	struct symbol_identity large = cache_fixture_identity(SMALL);
	struct symbol_identity next = cache_fixture_identity(SMALL + 1);
	struct symbol_cache_counters counters;
	struct cache_fixture fixture;
	uint64_t entries, bytes;

	assert_true(cache_fixture_open(&fixture, SMALL * BLOCK_BYTES));
	symbol_cache_set_patience(fixture.cache, 0);
	for (uint32_t i = 0; i < SMALL; i++) {
		struct symbol_identity identity = cache_fixture_identity(i);

		assert_int_equal(cache_fixture_store(fixture.cache, &identity, 1, 10), 0);
	}
	assert_int_equal(store_large(fixture.cache, &large, LARGE * BLOCK_BYTES), 0);
	symbol_cache_counters(fixture.cache, &counters);
	assert_int_equal(counters.evicted, SYMBOL_CACHE_EVICTIONS_MAX);
	/* Until that is made up for, the cache does not grow. */
	assert_int_equal(cache_fixture_store(fixture.cache, &next, 1, 10), -EBUSY);
	symbol_cache_counters(fixture.cache, &counters);
	assert_int_equal(counters.evicted, 2 * SYMBOL_CACHE_EVICTIONS_MAX);
	assert_int_equal(cache_fixture_store(fixture.cache, &next, 1, 10), 0);
	assert_true(cache_fixture_has(&fixture, &large));
	assert_true(cache_fixture_has(&fixture, &next));
	assert_int_equal(symbol_cache_size(fixture.cache, &entries, &bytes), 0);
	assert_in_range(bytes, 1, SMALL * BLOCK_BYTES);
	cache_fixture_close(&fixture);
}

static struct symbol_identity identity_of_user(uint32_t number, uint32_t uid)
{
	struct symbol_identity identity = cache_fixture_identity(number);
	const struct file_owner owner = { .uid = uid };

	return symbol_identity_of_owner(&identity, &owner);
}

/* Stores an entry of two blocks that was last used `age_s` ago. */
static void store_aged(
	const struct cache_fixture *fixture, const struct symbol_identity *identity, time_t age_s)
{
	assert_int_equal(cache_fixture_store(fixture->cache, identity, 1, 5000), 0);
	assert_int_equal(cache_fixture_age(fixture, identity, age_s), 0);
}

/* However old the entries of others are. */
static void the_largest_share_is_evicted_first(void **state)
{
	struct symbol_identity trusted[4], frugal = identity_of_user(10, 1000), greedy[20];
	struct cache_fixture fixture;

	/* Room for 16 entries. */
	assert_true(cache_fixture_open(&fixture, 32 * BLOCK_BYTES));
	for (uint32_t i = 0; i < 4; i++) {
		trusted[i] = cache_fixture_identity(i);
		store_aged(&fixture, &trusted[i], 100000 - i);
	}
	store_aged(&fixture, &frugal, 100000);
	for (uint32_t i = 0; i < 20; i++) {
		greedy[i] = identity_of_user(20 + i, 1001);
		store_aged(&fixture, &greedy[i], 1000 - i);
	}
	for (uint32_t i = 0; i < 4; i++)
		assert_true(cache_fixture_has(&fixture, &trusted[i]));
	assert_true(cache_fixture_has(&fixture, &frugal));
	/* Of that user's own, the least recently used are gone. */
	for (uint32_t i = 0; i < 20; i++)
		assert_int_equal(cache_fixture_has(&fixture, &greedy[i]), i >= 9);
	cache_fixture_close(&fixture);
}

/* One person may have many user ids. */
static void trusted_files_keep_half_of_the_cache(void **state)
{
	enum { USERS = 30 };
	struct symbol_identity identity;
	struct cache_fixture fixture;
	size_t left = 0;

	assert_true(cache_fixture_open(&fixture, 32 * BLOCK_BYTES));
	for (uint32_t i = 0; i < 16; i++) {
		identity = cache_fixture_identity(i);
		store_aged(&fixture, &identity, 100000 - i);
	}
	for (uint32_t i = 0; i < USERS; i++) {
		identity = identity_of_user(100, 1000 + i);
		store_aged(&fixture, &identity, 1000 - i);
	}
	for (uint32_t i = 0; i < 16; i++) {
		identity = cache_fixture_identity(i);
		left += cache_fixture_has(&fixture, &identity);
	}
	assert_int_equal(left, 8);
	cache_fixture_close(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(least_recently_used_are_evicted),
		cmocka_unit_test(the_stored_entry_is_not_evicted),
		cmocka_unit_test(use_by_other_processes_counts),
		cmocka_unit_test(a_store_evicts_as_many_bytes_as_it_adds),
		cmocka_unit_test(one_store_evicts_a_limited_number),
		cmocka_unit_test(the_largest_share_is_evicted_first),
		cmocka_unit_test(trusted_files_keep_half_of_the_cache),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
