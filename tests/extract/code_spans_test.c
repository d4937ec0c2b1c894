/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/code_spans.h"
#include "tests/base/scratch_fixture.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

struct test_entry {
	uint32_t offset;
	uint32_t value;
};

enum { CODE_BYTES = 200, SPANS = 12 };

static int add_entry(struct code_spans *spans, uint32_t offset, uint32_t value)
{
	int r = scratch_array_grow(&spans->entries);

	if (r < 0)
		return r;
	((struct test_entry *)spans->entries.items)[spans->entries.count++] =
		(struct test_entry){ offset, value };
	return 0;
}

/* By byte of code: which value has it, and up to where what was visited reaches. */
struct covered {
	uint32_t values[CODE_BYTES];
	uint32_t end;
};

static int cover(void *context, uint32_t start, uint32_t end, const struct code_span *span,
	const void *entry)
{
	struct covered *covered = context;

	assert_true(start < end && end <= CODE_BYTES);
	assert_true(start >= covered->end);
	assert_true(end <= span->end);
	for (uint32_t i = start; i < end; i++)
		covered->values[i] = ((const struct test_entry *)entry)->value;
	covered->end = end;
	return 0;
}

static void the_last_to_begin_has_the_code(void **state)
{
	struct scratch_fixture fixture;

	srandom(1);
	for (int round = 0; round < 300; round++) {
		struct covered covered = { 0 }, wanted = { 0 };
		uint32_t starts[CODE_BYTES];
		struct code_spans spans;
		uint32_t value = 0;

		assert_true(scratch_fixture_init(&fixture, 1 << 22));
		assert_int_equal(
			code_spans_init(&spans, &fixture.scratch, sizeof(struct test_entry)), 0);
		for (uint32_t i = 0; i < CODE_BYTES; i++)
			starts[i] = 0;
		for (int i = 0; i < SPANS; i++) {
			uint32_t start = (uint32_t)random() % (CODE_BYTES - 60);
			uint32_t end = start + 1 + (uint32_t)random() % 59;
			uint32_t first = (uint32_t)spans.entries.count;

			for (uint32_t at = start; at < end; at++) {
				if (at == start || random() % 8 == 0)
					assert_int_equal(add_entry(&spans, at, ++value), 0);
				if (starts[at] > start)
					continue;
				starts[at] = start + 1;
				wanted.values[at] = value;
			}
			assert_int_equal(code_spans_add(&spans, start, end, first, (uint32_t)i), 0);
		}
		assert_int_equal(code_spans_each(&spans, cover, &covered), 0);
		assert_memory_equal(covered.values, wanted.values, sizeof(wanted.values));
		code_spans_done(&spans);
		scratch_fixture_done(&fixture);
	}
}

struct deep {
	uint32_t end;
	uint32_t pieces;
};

static int count_piece(void *context, uint32_t start, uint32_t end, const struct code_span *span,
	const void *entry)
{
	struct deep *deep = context;

	(void)span;
	(void)entry;
	assert_int_equal(start, deep->end);
	deep->end = end;
	deep->pieces++;
	return 0;
}

enum { NEST_SPANS = 200000 };

/* Nested in each other; all from one start; or one with many entries around many others. */
static void add_nest(struct code_spans *spans, int kind, uint32_t i)
{
	uint32_t start = kind == 0 ? i : kind == 1 || i == 0 ? 0 : 2 * i - 1;
	uint32_t end = start + 1, first = (uint32_t)spans->entries.count, entries = 1;

	if (kind == 0)
		end = 2 * NEST_SPANS - i;
	if (kind == 1)
		end = i + 1;
	if (kind == 2 && i == 0)
		end = entries = 2 * NEST_SPANS;
	for (uint32_t at = start; at < start + entries; at++)
		assert_int_equal(add_entry(spans, at, i), 0);
	assert_int_equal(code_spans_add(spans, start, end, first, i), 0);
}

/* Each of these would take minutes if any step of it were quadratic. */
static void deep_nests_are_no_special_case(void **state)
{
	static const uint32_t pieces[] = { 2 * NEST_SPANS - 1, NEST_SPANS, 2 * NEST_SPANS };
	struct scratch_fixture fixture;
	struct code_spans spans;

	for (int kind = 0; kind < 3; kind++) {
		struct deep deep = { 0 };

		assert_true(scratch_fixture_init(&fixture, 1 << 28));
		assert_int_equal(
			code_spans_init(&spans, &fixture.scratch, sizeof(struct test_entry)), 0);
		for (uint32_t i = 0; i < NEST_SPANS; i++)
			add_nest(&spans, kind, i);
		assert_int_equal(code_spans_each(&spans, count_piece, &deep), 0);
		assert_int_equal(deep.end, kind == 1 ? NEST_SPANS : 2 * NEST_SPANS);
		assert_int_equal(deep.pieces, pieces[kind]);
		assert_int_equal(spans.spans.count, 0);
		code_spans_done(&spans);
		scratch_fixture_done(&fixture);
	}
}

static int fail_second(void *context, uint32_t start, uint32_t end, const struct code_span *span,
	const void *entry)
{
	int *calls = context;

	(void)start;
	(void)end;
	(void)span;
	(void)entry;
	return ++*calls == 2 ? -EPIPE : 0;
}

static void of_one_offset_the_last_entry_counts(void **state)
{
	struct scratch_fixture fixture;
	struct covered covered = { 0 };
	struct code_spans spans;
	int calls = 0;

	assert_true(scratch_fixture_init(&fixture, 1 << 22));
	assert_int_equal(code_spans_init(&spans, &fixture.scratch, sizeof(struct test_entry)), 0);
	assert_int_equal(code_spans_each(&spans, cover, &covered), 0);
	assert_int_equal(covered.end, 0);
	for (uint32_t i = 1; i <= 4; i++)
		assert_int_equal(add_entry(&spans, i < 3 ? 10 : 12, i), 0);
	assert_int_equal(code_spans_add(&spans, 10, 13, 0, 1), 0);
	assert_int_equal(code_spans_each(&spans, cover, &covered), 0);
	assert_int_equal(covered.values[10], 2);
	assert_int_equal(covered.values[11], 2);
	assert_int_equal(covered.values[12], 4);
	assert_int_equal(code_spans_add(&spans, 10, 13, 0, 1), 0);
	assert_int_equal(code_spans_each(&spans, fail_second, &calls), -EPIPE);
	assert_int_equal(calls, 2);
	code_spans_done(&spans);
	scratch_fixture_done(&fixture);
}

static void a_full_scratch_is_an_error(void **state)
{
	struct scratch_fixture fixture;
	struct code_spans spans;
	int r = 0;

	assert_true(scratch_fixture_init(&fixture, 3 * 65536));
	assert_int_equal(code_spans_init(&spans, &fixture.scratch, sizeof(struct test_entry)), 0);
	assert_int_equal(add_entry(&spans, 0, 1), 0);
	for (int i = 0; r == 0 && i < 10000; i++)
		r = code_spans_add(&spans, 0, 1, 0, 0);
	assert_int_equal(r, -EFBIG);
	assert_int_equal(code_spans_each(&spans, NULL, NULL), -EFBIG);
	code_spans_done(&spans);
	scratch_fixture_done(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_last_to_begin_has_the_code),
		cmocka_unit_test(deep_nests_are_no_special_case),
		cmocka_unit_test(of_one_offset_the_last_entry_counts),
		cmocka_unit_test(a_full_scratch_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
