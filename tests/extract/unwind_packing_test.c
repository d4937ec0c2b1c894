/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/unwind_packing.h"
#include "tests/base/scratch_fixture.h"

#include "tests/harness/failing_allocation.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static struct unwind_rows rows;
static struct unwind_packing packing;
static struct scratch_fixture scratch;

static int set_up(void **state)
{
	if (!scratch_fixture_init(&scratch, 256 << 20))
		return -1;
	return scratch_array_init(
		&rows.items, &scratch.scratch, sizeof(struct unwind_rows_item), UINT32_MAX);
}

static int tear_down(void **state)
{
	unwind_packing_done(&packing);
	unwind_rows_done(&rows);
	scratch_fixture_done(&scratch);
	return 0;
}

/* A row whose rule has this offset. */
static void add_row(uint32_t offset, int32_t rule)
{
	const struct pilotlight_unwind_rule made = { .kind = PILOTLIGHT_UNWIND_CFA,
		.offset = rule };
	struct unwind_rows_item *item;

	assert_int_equal(scratch_array_grow(&rows.items), 0);
	item = (struct unwind_rows_item *)rows.items.items + rows.items.count++;
	item->offset = offset;
	assert_int_equal(unwind_rules_intern(&rows.rules, &made, &item->rule), 0);
}

static void build(void)
{
	unwind_packing_done(&packing);
	assert_int_equal(unwind_packing_build(&packing, &rows, &scratch.scratch), 0);
}

static const struct pilotlight_unwind_line *line_at(size_t i)
{
	assert_true(i < packing.lines.count);
	return (const struct pilotlight_unwind_line *)packing.lines.items + i;
}

static void assert_page(size_t i, uint32_t line)
{
	assert_true(i < packing.pages.count);
	assert_int_equal(((const uint32_t *)packing.pages.items)[i], line);
}

static void no_rows_pack_to_an_empty_table(void **state)
{
	build();
	assert_int_equal(packing.summary.row_count, 0);
	assert_int_equal(packing.summary.rule_count, 0);
	assert_int_equal(packing.pages.count, 0);
}

static void rules_are_in_the_order_of_their_use(void **state)
{
	static const uint8_t expected[] = { 1, 0, 2, 0, 1, 0 };

	(void)unwind_rules_intern(
		&rows.rules, &(struct pilotlight_unwind_rule){ .offset = 99 }, &(uint32_t){ 0 });
	add_row(0x1000, 10);
	add_row(0x1010, 20);
	add_row(0x1020, 30);
	add_row(0x1030, 20);
	add_row(0x1040, 10);
	add_row(0x1050, 20);
	build();
	assert_int_equal(packing.summary.rule_count, 3);
	assert_int_equal(packing.rules[0].offset, 20);
	assert_int_equal(packing.rules[1].offset, 10);
	assert_int_equal(packing.rules[2].offset, 30);
	assert_int_equal(packing.summary.row_count, 6);
	assert_int_equal(packing.summary.line_count, 1);
	assert_int_equal(line_at(0)->base, 0x1000);
	for (size_t i = 0; i < PILOTLIGHT_UNWIND_LINE_ROWS; i++) {
		assert_int_equal(
			line_at(0)->deltas[i], i < 6 ? i * 0x10 : PILOTLIGHT_UNWIND_DELTA_UNUSED);
		assert_int_equal(line_at(0)->rules[i], i < 6 ? expected[i] : 0);
	}
	assert_int_equal(packing.summary.first_page, 1);
	assert_int_equal(packing.summary.page_count, 1);
	assert_page(0, 0);
	assert_page(1, 0);
}

static void lines_end_where_deltas_do(void **state)
{
	add_row(0, 1);
	add_row(PILOTLIGHT_UNWIND_DELTA_MAX, 2);
	add_row(PILOTLIGHT_UNWIND_DELTA_MAX + 1, 3);
	add_row(0xffffffff, 4);
	build();
	assert_int_equal(packing.summary.line_count, 3);
	assert_int_equal(line_at(0)->deltas[1], PILOTLIGHT_UNWIND_DELTA_MAX);
	assert_int_equal(line_at(0)->deltas[2], PILOTLIGHT_UNWIND_DELTA_UNUSED);
	assert_int_equal(line_at(1)->base, 0xffff);
	assert_int_equal(line_at(2)->base, 0xffffffff);
	assert_int_equal(packing.summary.page_count, PILOTLIGHT_UNWIND_PAGES_MAX);
	assert_page(0, 0);
	assert_page(0xf, 0);
	assert_page(0x10, 1);
	assert_page(PILOTLIGHT_UNWIND_PAGES_MAX - 1, 1);
	assert_page(PILOTLIGHT_UNWIND_PAGES_MAX, 2);
}

/* Of each page, the last line that begins before it or with it. */
static void pages_tell_where_to_search(void **state)
{
	for (uint32_t i = 0; i < 100; i++)
		add_row(0x3ff0 + i * 0x100, (int32_t)i % 2);
	build();
	assert_int_equal(packing.summary.line_count, 5);
	assert_int_equal(line_at(1)->base, 0x53f0);
	assert_int_equal(packing.summary.first_page, 3);
	assert_int_equal(packing.summary.page_count, 8);
	assert_int_equal(packing.pages.count, 9);
	for (size_t i = 0; i < 9; i++) {
		uint32_t line = 0;

		while (line + 1 < 5 && line_at(line + 1)->base <= (3 + i) << 12)
			line++;
		assert_page(i, line);
	}
	/* One that begins with a page is of it. */
	rows.items.count = 0;
	for (uint32_t i = 0; i <= 20; i++)
		add_row(0x1000 + i * 0x100 - (i == 20) * 0x400, (int32_t)i);
	((struct unwind_rows_item *)rows.items.items)[20].offset = 0x3000;
	build();
	assert_int_equal(line_at(1)->base, 0x3000);
	assert_page(1, 0);
	assert_page(2, 1);
}

static void rare_rules_escape(void **state)
{
	const struct pilotlight_unwind_escape *escapes;
	size_t found = 0;

	/* 300 rules, of which the first 255 are used twice. */
	for (int32_t i = 0; i < 555; i++)
		add_row((uint32_t)i * 4, i % 300);
	build();
	assert_int_equal(packing.summary.rule_count, 300);
	assert_int_equal(packing.summary.escape_count, 45);
	escapes = packing.escapes.items;
	for (uint32_t i = 0; i < 555; i++) {
		uint32_t rule = line_at(i / 20)->rules[i % 20];

		if (rule == PILOTLIGHT_UNWIND_ESCAPE) {
			assert_int_equal(escapes[found].row, i);
			rule = escapes[found++].rule;
			assert_true(rule >= PILOTLIGHT_UNWIND_ESCAPE);
		}
		assert_int_equal(packing.rules[rule].offset, i % 300);
	}
	assert_int_equal(found, 45);
}

static void unsupported_and_inferred_rows_are_counted(void **state)
{
	const struct pilotlight_unwind_rule none = { .kind = PILOTLIGHT_UNWIND_UNSUPPORTED },
					    inferred = { .kind = PILOTLIGHT_UNWIND_INFERRED };
	uint32_t none_id, inferred_id;

	assert_int_equal(unwind_rules_intern(&rows.rules, &none, &none_id), 0);
	assert_int_equal(unwind_rules_intern(&rows.rules, &inferred, &inferred_id), 0);
	for (uint32_t i = 0; i < 50; i++) {
		add_row(i, 1);
		if (i % 10 == 0)
			((struct unwind_rows_item *)rows.items.items)[i].rule = none_id;
		if (i % 10 > 7)
			((struct unwind_rows_item *)rows.items.items)[i].rule = inferred_id;
	}
	build();
	assert_int_equal(packing.summary.unsupported_rows, 5);
	assert_int_equal(packing.summary.inferred_rows, 10);
}

static void no_room_is_an_error(void **state)
{
	for (int32_t i = 0; i < 600; i++)
		add_row((uint32_t)i, i);
	/* For nothing, for rules but not to sort them, for lines, for escapes but no pages. */
	for (int pieces = 0; pieces < 4; pieces++) {
		scratch.scratch.used_bytes = 1 << 20;
		scratch.scratch.limit_bytes = (1 << 20) + pieces * (64 << 10);
		assert_int_equal(unwind_packing_build(&packing, &rows, &scratch.scratch), -EFBIG);
		unwind_packing_done(&packing);
	}
}

static void there_is_an_end_to_lines(void **state)
{
	/* Each too far from the next to share its line. */
	for (uint32_t i = 0; i < 1 << 16; i++)
		add_row(i << 16, 1);
	build();
	assert_int_equal(packing.summary.line_count, 1 << 16);
	rows.items.count = 0;
	for (uint32_t i = 0; i < (PILOTLIGHT_UNWIND_LINES_MAX + 1) * PILOTLIGHT_UNWIND_LINE_ROWS;
		i++) {
		struct unwind_rows_item *item;

		assert_int_equal(scratch_array_grow(&rows.items), 0);
		item = (struct unwind_rows_item *)rows.items.items + rows.items.count++;
		*item = (struct unwind_rows_item){ .offset = i };
	}
	unwind_packing_done(&packing);
	scratch.scratch.limit_bytes = 1ULL << 40;
	assert_int_equal(unwind_packing_build(&packing, &rows, &scratch.scratch), -EFBIG);
}

static void a_failed_allocation_is_an_error(void **state)
{
	add_row(0, 1);
	add_row(1, 2);
	for (size_t n = 0;; n++) {
		int r;

		fail_allocation(n);
		r = unwind_packing_build(&packing, &rows, &scratch.scratch);
		unwind_packing_done(&packing);
		if (!allocation_failed()) {
			assert_int_equal(r, 0);
			break;
		}
		assert_int_equal(r, -ENOMEM);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(no_rows_pack_to_an_empty_table, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			rules_are_in_the_order_of_their_use, set_up, tear_down),
		cmocka_unit_test_setup_teardown(lines_end_where_deltas_do, set_up, tear_down),
		cmocka_unit_test_setup_teardown(pages_tell_where_to_search, set_up, tear_down),
		cmocka_unit_test_setup_teardown(rare_rules_escape, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			unsupported_and_inferred_rows_are_counted, set_up, tear_down),
		cmocka_unit_test_setup_teardown(no_room_is_an_error, set_up, tear_down),
		cmocka_unit_test_setup_teardown(there_is_an_end_to_lines, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_failed_allocation_is_an_error, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
