/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/array.h"
#include "extract/function_flattener.h"
#include "pilotlight/symbol_file.h"
#include "tests/base/scratch_fixture.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { CODE_BYTES = 400, RANGES_MAX = 150, ROOT = 5 };

struct range {
	uint32_t start, end, frame;
};

struct fixture {
	struct scratch_fixture scratch;
	struct function_flattener flattener;
	struct code_spans functions;
};

static int set_up(void **state)
{
	static struct fixture fixture;
	struct scratch *scratch = &fixture.scratch.scratch;

	*state = &fixture;
	if (!scratch_fixture_init(&fixture.scratch, 1ULL << 30))
		return -1;
	if (function_flattener_init(&fixture.flattener, scratch) < 0)
		return -1;
	return code_spans_init(
		&fixture.functions, scratch, sizeof(struct pilotlight_symbol_boundary));
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	function_flattener_done(&fixture->flattener);
	code_spans_done(&fixture->functions);
	scratch_fixture_done(&fixture->scratch);
	return 0;
}

static void add(struct fixture *fixture, uint32_t start, uint32_t end, uint32_t frame)
{
	assert_int_equal(function_flattener_add(&fixture->flattener, start, end, frame), 0);
}

static void flush(struct fixture *fixture)
{
	assert_int_equal(
		function_flattener_flush(&fixture->flattener, ROOT, &fixture->functions), 0);
}

static void assert_boundaries(const struct fixture *fixture,
	const struct pilotlight_symbol_boundary *expected, size_t count)
{
	assert_int_equal(fixture->functions.entries.count, count);
	assert_memory_equal(fixture->functions.entries.items, expected, count * sizeof(*expected));
}

static void nested_calls_become_boundaries(void **state)
{
	const struct pilotlight_symbol_boundary expected[] = { { 10, ROOT }, { 20, ROOT + 1 },
		{ 25, ROOT + 2 }, { 30, ROOT + 1 }, { 40, ROOT }, { 90, ROOT + 2 } };
	struct fixture *fixture = *state;
	const struct code_span *span;

	add(fixture, 10, 100, ROOT);
	add(fixture, 20, 40, ROOT + 1);
	add(fixture, 25, 30, ROOT + 2);
	add(fixture, 90, 100, ROOT + 2);
	flush(fixture);
	assert_boundaries(fixture, expected, ARRAY_SIZE(expected));
	assert_int_equal(fixture->functions.spans.count, 1);
	span = fixture->functions.spans.items;
	assert_int_equal(span->start, 10);
	assert_int_equal(span->end, 100);
	assert_int_equal(span->first, 0);
	assert_int_equal(span->count, ARRAY_SIZE(expected));
	assert_int_equal(span->owner, ROOT);
}

static void each_stretch_of_a_function_is_a_span(void **state)
{
	const struct pilotlight_symbol_boundary expected[] = { { 10, ROOT }, { 30, ROOT + 1 },
		{ 35, ROOT } };
	struct fixture *fixture = *state;
	const struct code_span *spans;

	add(fixture, 30, 40, ROOT);
	add(fixture, 5, 8, ROOT + 1);
	add(fixture, 22, 35, ROOT + 1);
	add(fixture, 15, 20, ROOT);
	add(fixture, 10, 15, ROOT);
	add(fixture, 50, 60, ROOT + 1);
	flush(fixture);
	assert_boundaries(fixture, expected, ARRAY_SIZE(expected));
	assert_int_equal(fixture->functions.spans.count, 2);
	spans = fixture->functions.spans.items;
	assert_int_equal(spans[0].end, 20);
	assert_int_equal(spans[1].start, 30);
	assert_int_equal(spans[1].first, 1);
}

static void a_function_without_code_adds_nothing(void **state)
{
	struct fixture *fixture = *state;

	flush(fixture);
	add(fixture, 10, 20, ROOT + 1);
	flush(fixture);
	assert_int_equal(fixture->functions.spans.count, 0);
	assert_int_equal(fixture->functions.entries.count, 0);
	/* It leaves nothing to the next function. */
	add(fixture, 10, 20, ROOT);
	flush(fixture);
	assert_int_equal(fixture->functions.entries.count, 1);
}

/* The rule of the header, byte by byte. */
static void find_slowly(const struct range *ranges, size_t count, uint32_t *ret_frames)
{
	memset(ret_frames, 0, CODE_BYTES * sizeof(*ret_frames));
	for (uint32_t at = 0; at < CODE_BYTES; at++) {
		uint32_t greatest = 0;
		bool is_code = false;

		for (size_t i = 0; i < count; i++) {
			if (at < ranges[i].start || at >= ranges[i].end)
				continue;
			is_code |= ranges[i].frame == ROOT;
			if (ranges[i].frame > greatest)
				greatest = ranges[i].frame;
		}
		ret_frames[at] = is_code ? greatest : 0;
	}
}

static int paint(void *context, uint32_t start, uint32_t end, const struct code_span *span,
	const void *entry)
{
	uint32_t *frames = context;

	(void)span;
	for (uint32_t at = start; at < end; at++)
		frames[at] = ((const struct pilotlight_symbol_boundary *)entry)->frame;
	return 0;
}

static void crossing_calls_agree_with_a_slow_search(void **state)
{
	struct fixture *fixture = *state;

	srandom(1);
	for (int round = 0; round < 2000; round++) {
		struct range ranges[RANGES_MAX];
		uint32_t expected[CODE_BYTES], frames[CODE_BYTES] = { 0 };
		size_t count = 1 + (size_t)random() % RANGES_MAX;
		const struct pilotlight_symbol_boundary *boundaries;

		fixture->functions.spans.count = fixture->functions.entries.count = 0;
		for (size_t i = 0; i < count; i++) {
			uint32_t start = (uint32_t)random() % (CODE_BYTES - 1);
			uint32_t left = CODE_BYTES - start - 1;

			ranges[i] = (struct range){
				.start = start,
				.end = start + 1 + (uint32_t)random() % (left > 80 ? 80 : left + 1),
				.frame = ROOT + (uint32_t)random() % 12,
			};
			add(fixture, ranges[i].start, ranges[i].end, ranges[i].frame);
		}
		flush(fixture);
		find_slowly(ranges, count, expected);
		assert_int_equal(code_spans_each(&fixture->functions, paint, frames), 0);
		assert_memory_equal(frames, expected, sizeof(expected));
		boundaries = fixture->functions.entries.items;
		for (size_t i = 1; i < fixture->functions.entries.count; i++)
			assert_true(boundaries[i - 1].offset < boundaries[i].offset);
	}
}

/* Each case would take minutes if any step were quadratic. */
static void a_million_ranges_take_linear_time(void **state)
{
	enum { COUNT = 1000000 };
	struct fixture *fixture = *state;

	add(fixture, 0, UINT32_MAX, ROOT);
	for (uint32_t i = COUNT; i > 0; i--)
		add(fixture, i, UINT32_MAX - i, ROOT + i);
	flush(fixture);
	assert_int_equal(fixture->functions.entries.count, 2 * COUNT + 1);

	fixture->functions.spans.count = fixture->functions.entries.count = 0;
	add(fixture, 0, 8, ROOT);
	for (uint32_t i = 0; i < COUNT; i++)
		add(fixture, 2, 4, ROOT + 1 + i);
	flush(fixture);
	assert_int_equal(fixture->functions.entries.count, 3);

	fixture->functions.spans.count = fixture->functions.entries.count = 0;
	for (uint32_t i = COUNT; i > 0; i--)
		add(fixture, 4000 * i, 4000 * i + 1, ROOT);
	flush(fixture);
	assert_int_equal(fixture->functions.spans.count, COUNT);
}

static void a_full_scratch_is_reported(void **state)
{
	struct scratch_fixture scratch;
	struct function_flattener flattener;
	struct code_spans functions;
	int r;

	for (uint64_t limit = 0;; limit += 65536) {
		assert_true(scratch_fixture_init(&scratch, limit));
		assert_int_equal(function_flattener_init(&flattener, &scratch.scratch), 0);
		assert_int_equal(code_spans_init(&functions, &scratch.scratch,
					 sizeof(struct pilotlight_symbol_boundary)),
			0);
		r = function_flattener_add(&flattener, 0, 10, ROOT);
		if (r == 0)
			r = function_flattener_add(&flattener, 1, 9, ROOT + 1);
		if (r == 0)
			r = function_flattener_flush(&flattener, ROOT, &functions);
		function_flattener_done(&flattener);
		code_spans_done(&functions);
		scratch_fixture_done(&scratch);
		if (r == 0)
			break;
		assert_int_equal(r, -EFBIG);
		assert_true(limit < 1 << 20);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(nested_calls_become_boundaries, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			each_stretch_of_a_function_is_a_span, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			a_function_without_code_adds_nothing, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			crossing_calls_agree_with_a_slow_search, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			a_million_ranges_take_linear_time, set_up, tear_down),
		cmocka_unit_test(a_full_scratch_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
