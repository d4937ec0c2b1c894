/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "jit/line_list.h"

#include "base/array.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void assert_entry(
	const uint8_t *bytes, size_t size, uint32_t offset, const struct line_entry *expected)
{
	struct line_entry entry;

	assert_true(line_list_find(bytes, size, offset, &entry));
	assert_int_equal(entry.offset, expected->offset);
	assert_int_equal(entry.line, expected->line);
	assert_int_equal(entry.column, expected->column);
	assert_int_equal(entry.file, expected->file);
}

static void an_entry_covers_code_up_to_the_next(void **state)
{
	struct line_entry entries[] = { { 4, 10, 3, 1 }, { 9, 12, 0, 1 }, { 300, 11, 7, 2 } };
	const struct line_entry expected[] = { { 4, 10, 3, 1 }, { 9, 12, 0, 1 },
		{ 300, 11, 7, 2 } };
	uint8_t bytes[ARRAY_SIZE(entries) * LINE_ENTRY_BYTES_MAX];
	struct line_entry entry = { 77, 77, 77, 77 };
	size_t size;

	size = line_list_pack(entries, ARRAY_SIZE(entries), bytes);
	assert_false(line_list_find(bytes, size, 0, &entry));
	assert_false(line_list_find(bytes, size, 3, &entry));
	assert_int_equal(entry.line, 77);
	assert_entry(bytes, size, 4, &expected[0]);
	assert_entry(bytes, size, 8, &expected[0]);
	assert_entry(bytes, size, 9, &expected[1]);
	assert_entry(bytes, size, 299, &expected[1]);
	assert_entry(bytes, size, 300, &expected[2]);
	assert_entry(bytes, size, UINT32_MAX, &expected[2]);
}

static void small_steps_take_few_bytes(void **state)
{
	struct line_entry entries[1000];
	uint8_t bytes[ARRAY_SIZE(entries) * LINE_ENTRY_BYTES_MAX];

	for (uint32_t i = 0; i < ARRAY_SIZE(entries); i++)
		entries[i] = (struct line_entry){ 11 * i, 500 + i * 7 % 13, 1 + i * 5 % 40, 3 };
	assert_in_range(line_list_pack(entries, ARRAY_SIZE(entries), bytes), 1, 4000);
}

static void extremes_survive(void **state)
{
	struct line_entry entries[] = { { 0, UINT32_MAX, UINT32_MAX, UINT32_MAX },
		{ 1, 1, 0, UINT32_MAX / 2 + 1 }, { UINT32_MAX, UINT32_MAX / 2, 1U << 31, 1 } };
	const struct line_entry expected[] = { { 0, UINT32_MAX, UINT32_MAX, UINT32_MAX },
		{ 1, 1, 0, UINT32_MAX / 2 + 1 }, { UINT32_MAX, UINT32_MAX / 2, 1U << 31, 1 } };
	uint8_t bytes[ARRAY_SIZE(entries) * LINE_ENTRY_BYTES_MAX];
	size_t size;

	size = line_list_pack(entries, ARRAY_SIZE(entries), bytes);
	assert_in_range(size, 1, sizeof(bytes));
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++)
		assert_entry(bytes, size, expected[i].offset, &expected[i]);
}

static void entries_are_sorted_and_the_last_of_equals_counts(void **state)
{
	struct line_entry entries[] = { { 50, 5, 0, 1 }, { 10, 1, 0, 1 }, { 50, 6, 0, 1 },
		{ 30, 3, 0, 1 }, { 10, 2, 0, 1 }, { 50, 7, 0, 1 }, { 20, 2, 0, 2 } };
	const struct line_entry expected[] = { { 10, 2, 0, 1 }, { 20, 2, 0, 2 }, { 30, 3, 0, 1 },
		{ 50, 7, 0, 1 } };
	uint8_t bytes[ARRAY_SIZE(entries) * LINE_ENTRY_BYTES_MAX];
	struct line_cursor cursor = { 0 };
	size_t size, i;

	size = line_list_pack(entries, ARRAY_SIZE(entries), bytes);
	for (i = 0; line_list_next(bytes, size, &cursor); i++) {
		assert_in_range(i, 0, ARRAY_SIZE(expected) - 1);
		assert_memory_equal(&cursor.entry, &expected[i], sizeof(cursor.entry));
	}
	assert_int_equal(i, ARRAY_SIZE(expected));
}

static void the_sort_is_stable(void **state)
{
	enum { COUNT = 1237 };
	struct line_entry *entries = calloc(COUNT, sizeof(*entries));
	uint8_t *bytes = malloc((size_t)COUNT * LINE_ENTRY_BYTES_MAX);
	struct line_cursor cursor = { 0 };
	uint32_t last_of[100] = { 0 }, seed = 1, count = 0;
	size_t size;

	assert_non_null(entries);
	assert_non_null(bytes);
	for (uint32_t i = 0; i < COUNT; i++) {
		seed = seed * 1103515245 + 12345;
		entries[i] = (struct line_entry){ seed >> 16 & 63, i + 1, 0, 0 };
		last_of[entries[i].offset] = i + 1;
	}
	size = line_list_pack(entries, COUNT, bytes);
	while (line_list_next(bytes, size, &cursor)) {
		assert_int_equal(cursor.entry.line, last_of[cursor.entry.offset]);
		count++;
	}
	for (size_t i = 0; i < ARRAY_SIZE(last_of); i++)
		count -= last_of[i] != 0;
	assert_int_equal(count, 0);
	free(entries);
	free(bytes);
}

static void repeated_entries_are_left_out(void **state)
{
	struct line_entry twice[] = { { 0, 0, 9, 9 }, { 5, 8, 2, 1 }, { 7, 8, 2, 1 },
		{ 9, 0, 4, 4 }, { 11, 0, 0, 0 } };
	struct line_entry once[] = { { 5, 8, 2, 1 }, { 9, 0, 0, 0 } };
	struct line_entry nothing[] = { { 3, 0, 1, 1 } };
	uint8_t bytes[2][5 * LINE_ENTRY_BYTES_MAX];
	struct line_entry entry;
	size_t size;

	size = line_list_pack(twice, ARRAY_SIZE(twice), bytes[0]);
	assert_int_equal(line_list_pack(once, ARRAY_SIZE(once), bytes[1]), size);
	assert_memory_equal(bytes[0], bytes[1], size);
	assert_true(line_list_find(bytes[0], size, 8, &entry));
	assert_false(line_list_find(bytes[0], size, 9, &entry));
	assert_int_equal(line_list_pack(nothing, 1, bytes[0]), 0);
	assert_int_equal(line_list_pack(NULL, 0, NULL), 0);
	assert_false(line_list_find(NULL, 0, 0, &entry));
}

static void any_bytes_are_safe(void **state)
{
	static const uint8_t cut[] = { 0x04, 0x02, 0x04, 0x80 };
	static const uint8_t overlong[] = { 0x80, 0x80, 0x80, 0x80, 0x80, 0x00 };
	static const uint8_t wide_step[] = { 0x04, 0xff, 0xff, 0xff, 0xff, 0x7f };
	static const uint8_t wraps[] = { 0xfc, 0xff, 0xff, 0xff, 0x3f, 0x02, 0x04, 0x02 };
	struct line_cursor cursor = { 0 };
	struct line_entry entry;

	assert_entry(cut, sizeof(cut), 5, &(struct line_entry){ 1, 1, 0, 0 });
	assert_false(line_list_find(overlong, sizeof(overlong), 5, &entry));
	assert_false(line_list_find(wide_step, sizeof(wide_step), 5, &entry));
	assert_entry(wraps, sizeof(wraps), UINT32_MAX, &(struct line_entry){ UINT32_MAX, 1, 0, 0 });
	assert_true(line_list_next(wraps, sizeof(wraps), &cursor));
	assert_false(line_list_next(wraps, sizeof(wraps), &cursor));
	assert_int_equal(cursor.entry.offset, UINT32_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_entry_covers_code_up_to_the_next),
		cmocka_unit_test(small_steps_take_few_bytes),
		cmocka_unit_test(extremes_survive),
		cmocka_unit_test(entries_are_sorted_and_the_last_of_equals_counts),
		cmocka_unit_test(the_sort_is_stable),
		cmocka_unit_test(repeated_entries_are_left_out),
		cmocka_unit_test(any_bytes_are_safe),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
