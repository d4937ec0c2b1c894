/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/array.h"
#include "extract/line_sequences.h"
#include "tests/base/scratch_fixture.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { BASE = 0x400000, CODE_BYTES = 0x100 };

struct fixture {
	struct scratch_fixture scratch;
	struct code_segments segments;
	struct line_sequences lines;
	struct scratch_array rows;
};

static const struct symbol_builder_code code = {
	.segments = { { .vaddr = BASE, .memory_bytes = CODE_BYTES },
		{ .vaddr = BASE + 2 * CODE_BYTES, .memory_bytes = CODE_BYTES } },
	.segment_count = 2,
};

static int set_up(void **state)
{
	static struct fixture fixture;
	struct scratch *scratch = &fixture.scratch.scratch;

	*state = &fixture;
	if (!scratch_fixture_init(&fixture.scratch, 1 << 24) ||
		code_segments_init(&fixture.segments, &code) < 0 ||
		line_sequences_init(&fixture.lines, scratch, &fixture.segments) < 0)
		return -1;
	return scratch_array_init(
		&fixture.rows, scratch, sizeof(struct pilotlight_symbol_row), UINT32_MAX);
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	line_sequences_done(&fixture->lines);
	scratch_array_done(&fixture->rows);
	scratch_fixture_done(&fixture->scratch);
	return 0;
}

static void add(struct fixture *fixture, uint64_t offset, uint64_t place)
{
	assert_int_equal(line_sequences_add(&fixture->lines, BASE + offset, place), 0);
}

static void end(struct fixture *fixture, uint64_t offset)
{
	assert_int_equal(line_sequences_end(&fixture->lines, BASE + offset), 0);
}

static void assert_rows(
	struct fixture *fixture, const struct pilotlight_symbol_row *wanted, size_t count)
{
	const struct pilotlight_symbol_row *rows = fixture->rows.items;

	assert_int_equal(line_sequences_finish(&fixture->lines, &fixture->rows), 0);
	assert_int_equal(fixture->rows.count, count);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(rows[i].offset, wanted[i].offset);
		assert_int_equal(rows[i].place_low, wanted[i].place_low);
		assert_int_equal(rows[i].place_high, wanted[i].place_high);
	}
}

static void equal_neighbours_are_one_row(void **state)
{
	const struct pilotlight_symbol_row wanted[] = { { 4, 1, 0 }, { 10, 0, 9 }, { 12, 2, 0 },
		{ 20, 0, 0 } };
	struct fixture *fixture = *state;

	add(fixture, 4, 1);
	add(fixture, 6, 1);
	add(fixture, 8, 3);
	add(fixture, 8, 1);
	add(fixture, 10, 9ULL << 32);
	add(fixture, 12, 2);
	end(fixture, 20);
	assert_rows(fixture, wanted, ARRAY_SIZE(wanted));
	assert_int_equal(fixture->lines.ranges_outside, 0);
}

static void sequences_are_put_in_order(void **state)
{
	const struct pilotlight_symbol_row wanted[] = { { 2, 5, 0 }, { 6, 0, 0 }, { 10, 1, 0 },
		{ 12, 2, 0 }, { 14, 3, 0 }, { 22, 4, 0 }, { 30, 0, 0 } };
	struct fixture *fixture = *state;

	add(fixture, 10, 1);
	end(fixture, 15);
	add(fixture, 12, 2);
	add(fixture, 14, 3);
	end(fixture, 20);
	add(fixture, 20, 3);
	add(fixture, 22, 4);
	end(fixture, 30);
	add(fixture, 2, 5);
	end(fixture, 6);
	assert_rows(fixture, wanted, ARRAY_SIZE(wanted));
}

static void going_back_ends_a_sequence(void **state)
{
	const struct pilotlight_symbol_row wanted[] = { { 3, 7, 0 }, { 9, 0, 0 }, { 20, 1, 0 },
		{ 30, 0, 0 } };
	struct fixture *fixture = *state;

	add(fixture, 20, 1);
	add(fixture, 30, 2);
	add(fixture, 3, 7);
	end(fixture, 9);
	assert_rows(fixture, wanted, ARRAY_SIZE(wanted));
}

static void sequences_without_code_have_no_rows(void **state)
{
	struct fixture *fixture = *state;

	end(fixture, 50);
	add(fixture, 8, 1);
	end(fixture, 8);
	add(fixture, 12, 1);
	end(fixture, 3);
	add(fixture, 16, 0);
	end(fixture, 20);
	assert_rows(fixture, NULL, 0);
	assert_int_equal(fixture->lines.ranges_outside, 0);
}

static void a_sequence_that_nobody_ends_reaches_to_its_last_row(void **state)
{
	const struct pilotlight_symbol_row wanted[] = { { 4, 1, 0 }, { 8, 0, 0 } };
	struct fixture *fixture = *state;

	add(fixture, 4, 1);
	add(fixture, 8, 2);
	assert_rows(fixture, wanted, ARRAY_SIZE(wanted));
}

static void only_code_has_lines(void **state)
{
	const struct pilotlight_symbol_row wanted[] = { { 0xf8, 1, 0 }, { 0x100, 0, 0 },
		{ 0x200, 4, 0 }, { 0x2fe, 5, 0 }, { 0x300, 0, 0 } };
	struct fixture *fixture = *state;

	/* In a hole, from the first segment over it into the second, and out of the last. */
	add(fixture, 0x100, 1);
	add(fixture, 0x1f0, 1);
	end(fixture, 0x210);
	add(fixture, 0xf8, 1);
	add(fixture, 0x100, 2);
	add(fixture, 0x210, 3);
	end(fixture, 0x220);
	add(fixture, 0x200, 4);
	add(fixture, 0x2fe, 5);
	end(fixture, 0x301);
	/* What linkers leave of code that they have discarded is no loss. */
	assert_int_equal(line_sequences_add(&fixture->lines, 0, 6), 0);
	assert_int_equal(line_sequences_add(&fixture->lines, 8, 7), 0);
	assert_int_equal(line_sequences_end(&fixture->lines, 16), 0);
	assert_int_equal(line_sequences_add(&fixture->lines, UINT64_MAX, 6), 0);
	assert_int_equal(line_sequences_add(&fixture->lines, 8, 7), 0);
	assert_int_equal(line_sequences_end(&fixture->lines, UINT64_MAX), 0);
	assert_rows(fixture, wanted, ARRAY_SIZE(wanted));
	assert_int_equal(fixture->lines.ranges_outside, 3);
}

static void a_sequence_is_discarded_by_its_first_row(void **state)
{
	struct fixture *fixture = *state;

	/* Discarded, though its later rows and its end lie beyond what is known as such. */
	assert_int_equal(line_sequences_add(&fixture->lines, 0, 1), 0);
	assert_int_equal(line_sequences_add(&fixture->lines, 0x20000, 2), 0);
	assert_int_equal(line_sequences_end(&fixture->lines, 0x30000), 0);
	assert_int_equal(fixture->lines.ranges_outside, 0);
	/* Not discarded, though it is left at an address of that kind. */
	add(fixture, 0xf8, 1);
	assert_int_equal(line_sequences_add(&fixture->lines, UINT64_MAX, 2), 0);
	assert_int_equal(line_sequences_end(&fixture->lines, UINT64_MAX), 0);
	assert_int_equal(fixture->lines.ranges_outside, 1);
}

static void a_full_scratch_is_an_error(void **state)
{
	struct fixture fixture;
	int r;

	assert_int_equal(code_segments_init(&fixture.segments, &code), 0);
	for (uint64_t limit = 0;; limit += 65536) {
		assert_true(scratch_fixture_init(&fixture.scratch, limit));
		assert_int_equal(line_sequences_init(&fixture.lines, &fixture.scratch.scratch,
					 &fixture.segments),
			0);
		assert_int_equal(scratch_array_init(&fixture.rows, &fixture.scratch.scratch,
					 sizeof(struct pilotlight_symbol_row), 10),
			0);
		r = line_sequences_add(&fixture.lines, BASE, 1);
		if (r == 0)
			r = line_sequences_end(&fixture.lines, BASE + 1);
		if (r == 0)
			r = line_sequences_add(&fixture.lines, BASE, 1);
		if (r == 0)
			r = line_sequences_end(&fixture.lines, BASE + 1);
		if (r == 0)
			r = line_sequences_finish(&fixture.lines, &fixture.rows);
		line_sequences_done(&fixture.lines);
		scratch_array_done(&fixture.rows);
		scratch_fixture_done(&fixture.scratch);
		if (r == 0)
			break;
		assert_int_equal(r, -EFBIG);
		assert_true(limit < 1 << 20);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(equal_neighbours_are_one_row, set_up, tear_down),
		cmocka_unit_test_setup_teardown(sequences_are_put_in_order, set_up, tear_down),
		cmocka_unit_test_setup_teardown(going_back_ends_a_sequence, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			sequences_without_code_have_no_rows, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			a_sequence_that_nobody_ends_reaches_to_its_last_row, set_up, tear_down),
		cmocka_unit_test_setup_teardown(only_code_has_lines, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			a_sequence_is_discarded_by_its_first_row, set_up, tear_down),
		cmocka_unit_test(a_full_scratch_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
