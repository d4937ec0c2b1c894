/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/hash_index.h"
#include "tests/harness/failing_allocation.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { NUMBERS = 20000 };

static bool number_equal(const void *owner, uint32_t id, const void *key)
{
	return ((const uint64_t *)owner)[id] == *(const uint64_t *)key;
}

static uint64_t good_hash(uint64_t number)
{
	return hash_pair(number, 0);
}

static uint64_t one_hash(uint64_t number)
{
	(void)number;
	return 42;
}

/* Differs in the half that the index does not keep. */
static uint64_t lower_hash(uint64_t number)
{
	return number;
}

static void fill_and_find(uint64_t (*hash)(uint64_t number), uint32_t count)
{
	static uint64_t numbers[NUMBERS];
	struct hash_index index = { 0 };

	for (uint32_t id = 0; id < count; id++) {
		numbers[id] = (uint64_t)id * 3;
		assert_int_equal(hash_index_find(&index, hash(numbers[id]), number_equal, numbers,
					 &numbers[id]),
			HASH_INDEX_NONE);
		assert_int_equal(hash_index_reserve(&index), 0);
		hash_index_insert(&index, hash(numbers[id]), id);
	}
	assert_int_equal(index.count, count);
	for (uint64_t number = 0; number < (uint64_t)count * 3; number++) {
		uint32_t id = hash_index_find(&index, hash(number), number_equal, numbers, &number);

		assert_int_equal(id, number % 3 == 0 ? number / 3 : HASH_INDEX_NONE);
	}
	hash_index_done(&index);
	assert_null(index.slots);
}

static void elements_are_found_and_others_not(void **state)
{
	fill_and_find(good_hash, NUMBERS);
}

static void equal_hashes_are_told_apart_by_their_keys(void **state)
{
	fill_and_find(one_hash, 300);
	fill_and_find(lower_hash, 300);
}

static void an_empty_index_finds_nothing(void **state)
{
	struct hash_index index = { 0 };
	uint64_t key = 1;

	assert_int_equal(hash_index_find(&index, 1, number_equal, NULL, &key), HASH_INDEX_NONE);
	assert_int_equal(hash_index_bytes(&index), 0);
	assert_true(hash_index_is_full(&index));
	hash_index_clear(&index);
	hash_index_done(&index);
}

static void a_full_index_grows_on_the_next_reserve(void **state)
{
	struct hash_index index = { 0 };
	bool has_grown = false;

	for (uint32_t id = 0; id < 1000; id++) {
		size_t before = hash_index_bytes(&index);
		bool is_full = hash_index_is_full(&index);

		assert_int_equal(hash_index_reserve(&index), 0);
		assert_int_equal(is_full, hash_index_bytes(&index) > before);
		if (before > 0 && is_full) {
			assert_int_equal(hash_index_bytes(&index), 2 * before);
			has_grown = true;
		}
		assert_false(hash_index_is_full(&index));
		hash_index_insert(&index, good_hash(id), id);
		assert_true(index.count <= index.capacity / 4 * 3);
	}
	assert_true(has_grown);
	hash_index_done(&index);
}

static void clearing_keeps_the_memory(void **state)
{
	struct hash_index index = { 0 };
	uint64_t number = 7;
	size_t bytes;

	assert_int_equal(hash_index_reserve(&index), 0);
	hash_index_insert(&index, good_hash(number), 0);
	bytes = hash_index_bytes(&index);
	assert_int_equal(
		hash_index_find(&index, good_hash(number), number_equal, &number, &number), 0);
	hash_index_clear(&index);
	assert_int_equal(index.count, 0);
	assert_int_equal(hash_index_bytes(&index), bytes);
	assert_int_equal(hash_index_find(&index, good_hash(number), number_equal, &number, &number),
		HASH_INDEX_NONE);
	hash_index_done(&index);
}

static void failing_allocations_leave_the_index_whole(void **state)
{
	struct hash_index index = { 0 };
	static uint64_t numbers[200];

	for (uint32_t id = 0; id < 200; id++) {
		bool is_full = hash_index_is_full(&index);
		uint32_t count = index.count;

		fail_allocation(0);
		assert_int_equal(hash_index_reserve(&index), is_full ? -ENOMEM : 0);
		assert_int_equal(allocation_failed(), is_full);
		assert_int_equal(index.count, count);
		for (uint32_t i = 0; i < id; i++)
			assert_int_equal(hash_index_find(&index, good_hash(numbers[i]),
						 number_equal, numbers, &numbers[i]),
				i);
		assert_int_equal(hash_index_reserve(&index), 0);
		numbers[id] = id;
		hash_index_insert(&index, good_hash(id), id);
	}
	hash_index_done(&index);
}

static void different_inputs_have_different_hashes(void **state)
{
	assert_int_equal(hash_bytes("main", 4), hash_bytes("mainly", 4));
	assert_int_not_equal(hash_bytes("main", 4), hash_bytes("mainly", 6));
	assert_int_not_equal(hash_pair(1, 2), hash_pair(2, 1));
	/* The index keeps the upper half: neighbours must differ there. */
	for (uint64_t i = 0; i < 1000; i++) {
		assert_int_not_equal(hash_pair(i, 0) >> 32, hash_pair(i + 1, 0) >> 32);
		assert_int_not_equal(hash_pair(0, i) >> 32, hash_pair(0, i + 1) >> 32);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(elements_are_found_and_others_not),
		cmocka_unit_test(equal_hashes_are_told_apart_by_their_keys),
		cmocka_unit_test(an_empty_index_finds_nothing),
		cmocka_unit_test(a_full_index_grows_on_the_next_reserve),
		cmocka_unit_test(clearing_keeps_the_memory),
		cmocka_unit_test(failing_allocations_leave_the_index_whole),
		cmocka_unit_test(different_inputs_have_different_hashes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
