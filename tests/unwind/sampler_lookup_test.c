/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sampler's lookup, compiled for the host, in tables that share the arrays. */
#include "capture/walk_maps.h"
#include "tests/unwind/unwind_rows.h"
#include "tests/unwind/unwind_table_fixture.h"
#include "unwind/table_store.h"
#include "unwind/unwind_table.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif
#include "bpf/unwind_table.bpf.h"

enum {
	CAPACITY = 4096,
	ROWS_MAX = 2000,
	TABLES = 3,
};

static struct {
	uint32_t pages[CAPACITY];
	struct pilotlight_unwind_line lines[CAPACITY];
	struct pilotlight_unwind_rule rules[CAPACITY];
	struct pilotlight_unwind_escape escapes[3 * CAPACITY];
} arrays;

static __always_inline const __u32 *unwind_page(__u32 number)
{
	return number < CAPACITY ? &arrays.pages[number] : NULL;
}

static __always_inline const struct pilotlight_unwind_line *unwind_line(__u32 number)
{
	return number < CAPACITY ? &arrays.lines[number] : NULL;
}

static __always_inline const struct pilotlight_unwind_rule *unwind_rule(__u32 number)
{
	return number < CAPACITY ? &arrays.rules[number] : NULL;
}

static __always_inline const struct pilotlight_unwind_escape *unwind_escape(__u32 number)
{
	return number < 3 * CAPACITY ? &arrays.escapes[number] : NULL;
}

static struct table_store *new_store(void)
{
	const struct walk_maps described = {
		.pages = arrays.pages,
		.lines = arrays.lines,
		.rules = arrays.rules,
		.escapes = arrays.escapes,
		.sizes = { CAPACITY, CAPACITY, CAPACITY, 3 * CAPACITY },
	};
	struct table_store *store;

	assert_int_equal(table_store_new(&described, TABLES, &store), 0);
	return store;
}

/* At ascending offsets; `row` is the last one that begins at or before the offset. */
static void lookups_agree_with_rows(
	const struct unwind_table *table, const struct pilotlight_walk_file *placement)
{
	struct unwind_row_cursor cursor = { .table = table };
	struct unwind_row row = { 0 };

	assert_true(unwind_row_cursor_next(&cursor, &row));
	for (uint64_t offset = 0; offset < 720 * 4096; offset += 1 + offset % 3) {
		const struct pilotlight_unwind_rule *rule =
			unwind_rule(unwind_find_number(placement, offset));

		while (row.end <= offset && unwind_row_cursor_next(&cursor, &row))
			continue;
		if (offset >= row.start && offset < row.end) {
			assert_non_null(rule);
			assert_memory_equal(rule, row.rule, sizeof(*rule));
		} else {
			assert_null(rule);
		}
	}
}

/* Tables of random rows: close together and far apart, with few rules and with escapes. */
static void lookups_agree_with_the_rows(void **state)
{
	static struct unwind_table_fixture fixtures[TABLES];
	static struct unwind_table_fixture_row rows[ROWS_MAX];
	static const struct {
		uint32_t gap_max, rules;
	} shapes[TABLES] = { { 3, 600 }, { 900, 40 }, { 20, 256 } };
	struct pilotlight_walk_file placements[TABLES] = { 0 };
	struct symbol_file *files[TABLES];
	struct unwind_table tables[TABLES];
	struct table_store *store = new_store();

	srandom(5);
	for (size_t t = 0; t < TABLES; t++) {
		uint32_t offset = 0x3000 + (uint32_t)t * 777;
		size_t count = 0;

		while (count < ROWS_MAX && offset < 700 * 4096) {
			rows[count].offset = offset;
			rows[count++].rule = (uint32_t)random() % shapes[t].rules;
			offset += 1 + (uint32_t)random() % shapes[t].gap_max;
			if (random() % 400 == 0)
				offset += 70000;
		}
		unwind_table_fixture_lay_out(&fixtures[t], rows, count, shapes[t].rules);
		files[t] = unwind_table_fixture_open(&fixtures[t]);
		assert_int_equal(unwind_table_init(&tables[t], files[t]), 0);
		assert_int_equal(table_store_put(store, &tables[t], &placements[t]), 0);
	}
	for (size_t t = 0; t < TABLES; t++) {
		lookups_agree_with_rows(&tables[t], &placements[t]);
		assert_int_equal(unwind_find_number(&placements[t], UINT32_MAX), UNWIND_NO_RULE);
		assert_int_equal(unwind_find_number(&placements[t], UINT64_MAX), UNWIND_NO_RULE);
		assert_int_equal(
			unwind_find_number(&placements[t], 1ULL << 40 | 0x3500), UNWIND_NO_RULE);
	}
	table_store_free(store);
	for (size_t t = 0; t < TABLES; t++)
		symbol_file_free(files[t]);
}

/* Entries that the engine never writes. */
static void damaged_arrays_find_nothing(void **state)
{
	struct pilotlight_walk_file file = {
		.page_count = 1, .line_count = 1, .rule_count = 1, .escape_count = 1
	};

	memset(&arrays, 0, sizeof(arrays));
	arrays.pages[0] = arrays.pages[1] = CAPACITY;
	assert_null(unwind_rule(unwind_find_number(&file, 5)));
	arrays.pages[0] = arrays.pages[1] = 0;
	arrays.lines[0].base = 6;
	assert_null(unwind_rule(unwind_find_number(&file, 5)));
	arrays.lines[0].base = 0;
	memset(arrays.lines[0].deltas + 1, 0xff, sizeof(arrays.lines[0].deltas) - 2);
	assert_non_null(unwind_rule(unwind_find_number(&file, 5)));
	arrays.lines[0].rules[0] = PILOTLIGHT_UNWIND_ESCAPE;
	assert_non_null(
		unwind_rule(unwind_find_number(&file, 5))); /* escape 0 is of row 0, rule 0 */
	arrays.escapes[0].row = 1;
	assert_null(unwind_rule(unwind_find_number(&file, 5)));
	arrays.escapes[0] = (struct pilotlight_unwind_escape){ .rule = 1 };
	assert_null(unwind_rule(unwind_find_number(&file, 5)));
	file.escapes_at = 3 * CAPACITY;
	assert_null(unwind_rule(unwind_find_number(&file, 5)));
	file.pages_at = CAPACITY - 1;
	assert_null(unwind_rule(unwind_find_number(&file, 5)));
	file.pages_at = 0;
	file.lines_at = CAPACITY;
	assert_null(unwind_rule(unwind_find_number(&file, 5)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lookups_agree_with_the_rows),
		cmocka_unit_test(damaged_arrays_find_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
