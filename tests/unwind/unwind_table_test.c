/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/array.h"
#include "base/cleanup.h"
#include "tests/unwind/sampler_lookup.h"
#include "tests/unwind/unwind_table_fixture.h"
#include "unwind/unwind_table.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct unwind_table_fixture fixture;

/* A function, a gap, one that is so far off that it has a line of its own, and a rare rule. */
static const struct unwind_table_fixture_row example[] = {
	{ 0x1010, 1 },
	{ 0x1011, 2 },
	{ 0x1020, 0 },
	{ 0x12000, 1 },
	{ 0x12004, 300 },
	{ 0x12008, 0 },
};

static void lay_out_example(void)
{
	unwind_table_fixture_lay_out(&fixture, example, ARRAY_SIZE(example), 301);
}

static int init(struct unwind_table *ret_table, struct symbol_file **ret_file)
{
	*ret_file = unwind_table_fixture_open(&fixture);
	assert_non_null(*ret_file);
	return unwind_table_init(ret_table, *ret_file);
}

static int try(void)
{
	_cleanup_(symbol_file_freep) struct symbol_file *file = NULL;
	struct unwind_table table = { .pages = (const uint32_t *)"untouched" };
	int r = init(&table, &file);

	if (r < 0) {
		assert_null(table.summary);
		assert_string_equal((const char *)table.pages, "untouched");
	}
	return r;
}

static void assert_row(const struct unwind_table *table, uint64_t offset, uint64_t start,
	uint64_t end, uint32_t rule)
{
	struct unwind_row row;

	assert_ptr_equal(sampler_lookup(table, offset), &table->rules[rule]);
	assert_true(unwind_row_find(table, offset, &row));
	assert_int_equal(row.start, start);
	assert_int_equal(row.end, end);
	assert_ptr_equal(row.rule, &table->rules[rule]);
}

static void assert_known_rows(const struct unwind_table *table)
{
	assert_row(table, 0x1010, 0x1010, 0x1011, 1);
	assert_row(table, 0x1011, 0x1011, 0x1020, 2);
	assert_row(table, 0x101f, 0x1011, 0x1020, 2);
	assert_row(table, 0x1020, 0x1020, 0x12000, 0);
	assert_row(table, 0x11fff, 0x1020, 0x12000, 0); /* behind all deltas */
	assert_row(table, 0x12003, 0x12000, 0x12004, 1);
	assert_row(table, 0x12004, 0x12004, 0x12008, 300);
	assert_row(table, 0x12fff, 0x12008, 0x13000, 0);
	assert_null(sampler_lookup(table, 0x100f));
	assert_null(sampler_lookup(table, 0x1000));
	assert_null(sampler_lookup(table, 0xfff));
	assert_null(sampler_lookup(table, 0));
	assert_null(sampler_lookup(table, 0x13000));
	assert_null(sampler_lookup(table, (1ULL << 32) + 0x1010));
	assert_null(sampler_lookup(table, UINT64_MAX));
}

static void offsets_find_their_rows(void **state)
{
	_cleanup_(symbol_file_freep) struct symbol_file *file = NULL;
	struct unwind_table table;

	lay_out_example();
	assert_int_equal(init(&table, &file), 0);
	assert_int_equal(table.summary->line_count, 2);
	assert_int_equal(table.summary->escape_count, 1);
	assert_known_rows(&table);
	assert_true(sampler_lookup_is_right(&table));
	assert_int_equal(unwind_table_bytes(&table), 48 + 19 * 4 + 2 * 64 + 301 * 16 + 8);
}

static void tables_may_reach_both_ends(void **state)
{
	static const struct unwind_table_fixture_row first[] = { { 0, 1 }, { 5, 0 } };
	static const struct unwind_table_fixture_row last[] = { { 0xfffff000, 1 },
		{ UINT32_MAX, 0 } };
	_cleanup_(symbol_file_freep) struct symbol_file *low = NULL, *high = NULL;
	struct unwind_table table;

	unwind_table_fixture_lay_out(&fixture, first, 2, 2);
	assert_int_equal(init(&table, &low), 0);
	assert_row(&table, 0, 0, 5, 1);
	assert_true(sampler_lookup_is_right(&table));
	unwind_table_fixture_lay_out(&fixture, last, 2, 2);
	assert_int_equal(fixture.summary.first_page + fixture.summary.page_count, 1 << 20);
	assert_int_equal(init(&table, &high), 0);
	assert_row(&table, UINT32_MAX, UINT32_MAX, 1ULL << 32, 0);
	assert_true(sampler_lookup_is_right(&table));
	fixture.summary.page_count++; /* and no further */
	fixture.page_count++;
	assert_int_equal(try(), -EBADMSG);
}

/* Code that ends with its page: the STOP behind it begins where the pages end. */
static void last_row_may_be_empty(void **state)
{
	static const struct unwind_table_fixture_row rows[] = { { 0x1ff0, 1 }, { 0x2000, 0 } };
	_cleanup_(symbol_file_freep) struct symbol_file *file = NULL;
	struct unwind_row_cursor cursor;
	struct unwind_table table;
	struct unwind_row row;

	unwind_table_fixture_lay_out(&fixture, rows, 2, 2);
	fixture.summary.page_count = 1;
	fixture.page_count = 2;
	assert_int_equal(init(&table, &file), 0);
	assert_row(&table, 0x1fff, 0x1ff0, 0x2000, 1);
	assert_null(sampler_lookup(&table, 0x2000));
	assert_true(sampler_lookup_is_right(&table));
	cursor = (struct unwind_row_cursor){ .table = &table };
	assert_true(unwind_row_cursor_next(&cursor, &row));
	assert_true(unwind_row_cursor_next(&cursor, &row));
	assert_int_equal(row.start, 0x2000);
	assert_int_equal(row.end, 0x2000);
}

static void tables_without_rows_are_whole(void **state)
{
	_cleanup_(symbol_file_freep) struct symbol_file *file = NULL;
	struct unwind_row_cursor cursor;
	struct unwind_table table;
	struct unwind_row row;

	unwind_table_fixture_lay_out(&fixture, NULL, 0, 0);
	fixture.summary.flags = PILOTLIGHT_UNWIND_KEEPS_FRAME_POINTERS;
	assert_int_equal(init(&table, &file), 0);
	assert_int_equal(table.summary->flags, PILOTLIGHT_UNWIND_KEEPS_FRAME_POINTERS);
	assert_null(sampler_lookup(&table, 0));
	cursor = (struct unwind_row_cursor){ .table = &table };
	assert_false(unwind_row_cursor_next(&cursor, &row));
	assert_int_equal(unwind_table_bytes(&table), 48);
	fixture.page_count = 1; /* the one to end with */
	assert_int_equal(try(), 0);
	fixture.page_count = 2;
	assert_int_equal(try(), -EBADMSG);
}

static void other_machines_are_known(void **state)
{
	lay_out_example();
	fixture.summary.machine = EM_AARCH64;
	assert_int_equal(try(), 0);
	fixture.summary.machine = EM_386;
	assert_int_equal(try(), -EBADMSG);
	fixture.summary.machine = 0;
	assert_int_equal(try(), -EBADMSG);
}

static void files_without_a_table_have_none(void **state)
{
	lay_out_example();
	fixture.summary_count = 0;
	assert_int_equal(try(), -ENODATA);
}

static void assert_damage_is_seen(void *at, size_t size, uint64_t value)
{
	uint64_t before = 0;

	memcpy(&before, at, size);
	memcpy(at, &value, size);
	assert_int_equal(try(), -EBADMSG);
	memcpy(at, &before, size);
	assert_int_equal(try(), 0);
}

#define assert_refused(field, value) assert_damage_is_seen(&(field), sizeof(field), (value))

static void wrong_counts_are_refused(void **state)
{
	size_t *counts[] = { &fixture.page_count, &fixture.line_count, &fixture.rule_count,
		&fixture.escape_count };

	lay_out_example();
	assert_int_equal(try(), 0);
	assert_refused(fixture.summary_count, 2);
	for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
		assert_refused(*counts[i], *counts[i] + 1);
		assert_refused(*counts[i], *counts[i] - 1);
		assert_refused(*counts[i], 0);
	}
	assert_refused(fixture.summary.page_count, 17);
	assert_refused(fixture.summary.page_count, UINT32_MAX);
	assert_refused(fixture.summary.line_count, 0);
	assert_refused(fixture.summary.rule_count, UINT32_MAX);
	assert_refused(fixture.summary.escape_count, 0);
	assert_refused(fixture.summary.row_count, 5);
	assert_refused(fixture.summary.row_count, 7);
	assert_refused(fixture.summary.unsupported_rows, 7);
	assert_refused(fixture.summary.inferred_rows, 7);
	assert_refused(fixture.summary.first_page, 0);
	assert_refused(fixture.summary.first_page, 2);
	assert_refused(fixture.summary.first_page, (1 << 20) - 17);
	assert_refused(fixture.summary.first_page, UINT32_MAX);
}

static void pages_or_lines_alone_are_refused(void **state)
{
	lay_out_example();
	fixture.summary.page_count = 0;
	fixture.page_count = 1;
	assert_int_equal(try(), -EBADMSG);
	unwind_table_fixture_lay_out(&fixture, NULL, 0, 0);
	fixture.summary.page_count = 1;
	fixture.page_count = 2;
	assert_int_equal(try(), -EBADMSG);
}

/* Any other value of a page. */
static void wrong_pages_are_refused(void **state)
{
	lay_out_example();
	for (size_t i = 0; i < fixture.page_count; i++) {
		assert_refused(fixture.pages[i], !fixture.pages[i]);
		assert_refused(fixture.pages[i], 2);
		assert_refused(fixture.pages[i], UINT32_MAX);
	}
}

static void wrong_lines_are_refused(void **state)
{
	struct pilotlight_unwind_line *lines = fixture.lines;

	lay_out_example();
	assert_refused(lines[0].base, 0xfff);	/* before the pages */
	assert_refused(lines[0].base, 0x12000); /* as the next */
	assert_refused(lines[0].base, 0x11ff0); /* its last row would be the next line's first */
	assert_refused(lines[1].base, 0x1020);	/* the same, from the other side */
	assert_refused(lines[1].base, 0x1000);
	assert_refused(lines[1].base, 0x13000);	   /* behind the pages */
	assert_refused(lines[1].base, UINT32_MAX); /* wraps */
	assert_refused(lines[0].deltas[0], 1);
	assert_refused(lines[0].deltas[0], 0xffff);
	assert_refused(lines[0].deltas[1], 0);
	assert_refused(lines[0].deltas[1], 0x10);
	assert_refused(lines[0].deltas[1], 0x11);
	assert_refused(lines[0].deltas[1], 0xffff); /* and more behind it */
	assert_refused(lines[0].deltas[2], 0xffff); /* one row fewer than the summary says */
	assert_refused(lines[0].deltas[3], 0x20);   /* a row more */
	assert_refused(lines[1].deltas[19], 0x20);
}

/* Many lines to a page would take the sampler more steps than it makes. */
static void lines_are_full(void **state)
{
	static const struct unwind_table_fixture_row rows[] = { { 0x1000, 1 }, { 0x1010, 0 } };
	struct pilotlight_unwind_line *lines = fixture.lines;

	unwind_table_fixture_lay_out(&fixture, rows, 2, 2);
	assert_int_equal(fixture.line_count, 1);
	lines[1] = lines[0];
	lines[0].deltas[1] = PILOTLIGHT_UNWIND_DELTA_UNUSED;
	lines[1].deltas[1] = PILOTLIGHT_UNWIND_DELTA_UNUSED;
	lines[1].base = 0x1010;
	lines[1].rules[0] = lines[1].rules[1];
	fixture.line_count = fixture.summary.line_count = 2;
	fixture.pages[1] = 1;
	assert_int_equal(try(), -EBADMSG);
}

static void rows_may_not_pass_the_last_offset(void **state)
{
	static const struct unwind_table_fixture_row rows[] = { { 0xfffffff0, 1 },
		{ UINT32_MAX, 0 } };

	unwind_table_fixture_lay_out(&fixture, rows, 2, 2);
	assert_refused(fixture.lines[0].deltas[1], 0x10); /* 2^32, where the pages end */
	assert_refused(fixture.lines[0].deltas[1], 0x11);
}

static void wrong_rules_are_refused(void **state)
{
	lay_out_example();
	assert_refused(fixture.rules[0].kind, PILOTLIGHT_UNWIND_KINDS);
	assert_refused(fixture.rules[300].kind, 255);
	assert_refused(fixture.rules[300].frame_pointer, PILOTLIGHT_UNWIND_FPS);
	assert_refused(fixture.lines[0].rules[1], PILOTLIGHT_UNWIND_ESCAPE);
	assert_refused(fixture.lines[1].rules[1], 1); /* no row refers to the escape */
	assert_refused(fixture.escapes[0].row, 20);
	assert_refused(fixture.escapes[0].row, 22);
	assert_refused(fixture.escapes[0].row, UINT32_MAX);
	assert_refused(fixture.escapes[0].rule, 301);
	assert_refused(fixture.escapes[0].rule, UINT32_MAX);
	/* Kinds that are not of rows in use matter as little as what stands in unused rows. */
	fixture.lines[0].rules[5] = PILOTLIGHT_UNWIND_ESCAPE;
	assert_int_equal(try(), 0);
}

static void rule_ids_are_those_of_rules(void **state)
{
	static const struct unwind_table_fixture_row rows[] = { { 0x1000, 1 }, { 0x1004, 0 } };

	unwind_table_fixture_lay_out(&fixture, rows, 2, 2);
	assert_refused(fixture.lines[0].rules[0], 2);
	assert_refused(fixture.lines[0].rules[0], 254);
}

static void escapes_ascend(void **state)
{
	static const struct unwind_table_fixture_row rows[] = { { 0x1000, 300 }, { 0x1004, 0 },
		{ 0x1008, 301 }, { 0x100c, 299 } };
	struct pilotlight_unwind_escape first;

	unwind_table_fixture_lay_out(&fixture, rows, 4, 302);
	assert_int_equal(try(), 0);
	first = fixture.escapes[0];
	fixture.escapes[0] = fixture.escapes[1];
	fixture.escapes[1] = first;
	assert_int_equal(try(), -EBADMSG);
	fixture.escapes[0] = first;
	assert_int_equal(try(), -EBADMSG);
}

/* Never to be made anew: it is what version 1 is. */
static void version_1_stays_readable(void **state)
{
	_cleanup_(symbol_file_freep) struct symbol_file *file = NULL;
	_cleanup_close_ int fd = open("tests/data/unwind/version_1.sym", O_RDONLY | O_CLOEXEC);
	struct unwind_table table;

	assert_true(fd >= 0);
	assert_int_equal(symbol_file_open(fd, &file), 0);
	assert_int_equal(unwind_table_init(&table, file), 0);
	assert_known_rows(&table);
	assert_int_equal(table.rules[300].kind, PILOTLIGHT_UNWIND_CFA);
	assert_int_equal(table.rules[300].base, 7);
	assert_int_equal(table.rules[300].offset, 2408);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(offsets_find_their_rows),
		cmocka_unit_test(tables_may_reach_both_ends),
		cmocka_unit_test(last_row_may_be_empty),
		cmocka_unit_test(tables_without_rows_are_whole),
		cmocka_unit_test(other_machines_are_known),
		cmocka_unit_test(files_without_a_table_have_none),
		cmocka_unit_test(wrong_counts_are_refused),
		cmocka_unit_test(pages_or_lines_alone_are_refused),
		cmocka_unit_test(wrong_pages_are_refused),
		cmocka_unit_test(wrong_lines_are_refused),
		cmocka_unit_test(lines_are_full),
		cmocka_unit_test(rows_may_not_pass_the_last_offset),
		cmocka_unit_test(wrong_rules_are_refused),
		cmocka_unit_test(rule_ids_are_those_of_rules),
		cmocka_unit_test(escapes_ascend),
		cmocka_unit_test(version_1_stays_readable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
