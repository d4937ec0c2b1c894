/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/offset_index.h"

#include "base/array.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ENTRIES = 500, STARTS_MAX = 4096 };

struct table {
	uint32_t entries[ENTRIES * 3];
	uint32_t starts[STARTS_MAX];
	struct offset_index index;
};

static uint32_t draw(uint64_t *state)
{
	*state = *state * 6364136223846793005U + 1442695040888963407U;
	return (uint32_t)(*state >> 33);
}

static void build(struct table *table, uint32_t count, uint8_t entry_words, uint8_t shift)
{
	uint32_t last = table->entries[(size_t)(count - 1) * entry_words];
	uint32_t stretches = (last >> shift) + 1, before = 0;

	assert_true(stretches < STARTS_MAX);
	for (uint32_t i = 0; i <= stretches; i++) {
		while (before < count &&
			table->entries[(size_t)before * entry_words] < (uint64_t)i << shift)
			before++;
		table->starts[i] = before;
	}
	table->index = (struct offset_index){
		.entries = table->entries,
		.starts = table->starts,
		.count = count,
		.last_range = stretches - 1,
		.entry_words = entry_words,
		.shift = shift,
	};
}

static uint32_t count_slowly(const struct offset_index *index, uint32_t key)
{
	uint32_t count = 0;

	while (count < index->count && index->entries[(size_t)count * index->entry_words] <= key)
		count++;
	return count;
}

static void agrees_with_a_linear_search(void **state)
{
	static struct table table;
	uint64_t random = 1;

	for (uint8_t words = 2; words <= 3; words++)
		for (uint8_t shift = 0; shift < 32; shift++) {
			uint32_t spread = shift < 3 ? 8 : 1U << (shift < 20 ? shift : 20);
			uint32_t offset = draw(&random) % spread;

			for (uint32_t i = 0; i < ENTRIES; i++) {
				table.entries[i * words] = offset;
				offset += 1 + draw(&random) % spread;
				/* Partly dense, partly sparse. */
				offset += i % 50 == 0 ? spread * 5 : 0;
			}
			build(&table, ENTRIES, words, shift);
			for (uint32_t round = 0; round < 100; round++) {
				uint32_t keys[OFFSET_INDEX_BATCH], found[OFFSET_INDEX_BATCH];

				for (size_t i = 0; i < OFFSET_INDEX_BATCH; i++)
					keys[i] = draw(&random) % (offset + 100);
				offset_index_find(&table.index, keys, OFFSET_INDEX_BATCH, found);
				for (size_t i = 0; i < OFFSET_INDEX_BATCH; i++)
					assert_int_equal(
						found[i], count_slowly(&table.index, keys[i]));
			}
		}
}

static void ends_of_the_range_are_found(void **state)
{
	static struct table table;
	const uint32_t keys[] = { 0, 4, 5, 6, UINT32_MAX - 1, UINT32_MAX };
	const uint32_t wanted[] = { 0, 0, 1, 1, 1, 2 };
	uint32_t found[ARRAY_SIZE(keys)];

	table.entries[0] = 5;
	table.entries[2] = UINT32_MAX;
	build(&table, 2, 2, 31);
	offset_index_find(&table.index, keys, ARRAY_SIZE(keys), found);
	assert_memory_equal(found, wanted, sizeof(wanted));
}

static void empty_table_finds_nothing(void **state)
{
	const struct offset_index index = { 0 };
	const uint32_t keys[] = { 0, UINT32_MAX };
	uint32_t found[] = { 7, 7, 7 };

	offset_index_find(&index, keys, 2, found);
	assert_int_equal(found[0], 0);
	assert_int_equal(found[1], 0);
	assert_int_equal(found[2], 7);
}

/* Allocated at its exact size, so that the sanitizer sees a bad access. */
static void unsorted_tables_stay_in_bounds(void **state)
{
	uint64_t random = 2;

	for (int round = 0; round < 2000; round++) {
		uint32_t count = 1 + draw(&random) % 40, stretches = 1 + draw(&random) % 8;
		uint8_t words = 2 + draw(&random) % 2;
		uint32_t *entries = malloc(count * words * sizeof(*entries));
		uint32_t *starts = malloc((stretches + 1) * sizeof(*starts));
		uint32_t keys[OFFSET_INDEX_BATCH], found[OFFSET_INDEX_BATCH];

		assert_non_null(entries);
		assert_non_null(starts);
		for (uint32_t i = 0; i < count * words; i++)
			entries[i] = draw(&random);
		for (uint32_t i = 0; i <= stretches; i++)
			starts[i] = draw(&random) % 2 ? draw(&random) : draw(&random) % (count + 2);
		for (size_t i = 0; i < OFFSET_INDEX_BATCH; i++)
			keys[i] = draw(&random);
		offset_index_find(&(struct offset_index){ entries, starts, count, stretches - 1,
					  words, (uint8_t)(draw(&random) % 32) },
			keys, OFFSET_INDEX_BATCH, found);
		for (size_t i = 0; i < OFFSET_INDEX_BATCH; i++)
			assert_in_range(found[i], 0, count);
		free(starts);
		free(entries);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(agrees_with_a_linear_search),
		cmocka_unit_test(ends_of_the_range_are_found),
		cmocka_unit_test(empty_table_finds_nothing),
		cmocka_unit_test(unsorted_tables_stay_in_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
