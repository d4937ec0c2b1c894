/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/array.h"
#include "extract/symbol_layer.h"
#include "pilotlight/symbol_file.h"
#include "tests/base/scratch_fixture.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* Of names; frames 1 and 2 are a function and a call in it. */
enum { FUNCTION = 10, CALL = 20, SYMBOL = 30, OTHER = 40 };

struct fixture {
	struct scratch_fixture scratch;
	struct symbol_frames frames;
	struct scratch_array boundaries;
	struct code_spans functions;
	struct symbol_layer layer;
};

static int init_arrays(struct fixture *fixture)
{
	struct scratch *scratch = &fixture->scratch.scratch;
	int r = symbol_frames_init(&fixture->frames, scratch);

	if (r == 0)
		r = scratch_array_init(&fixture->boundaries, scratch,
			sizeof(struct pilotlight_symbol_boundary), UINT32_MAX);
	if (r == 0)
		r = code_spans_init(
			&fixture->functions, scratch, sizeof(struct pilotlight_symbol_boundary));
	if (r == 0)
		r = symbol_layer_init(&fixture->layer, scratch);
	return r;
}

static int set_up(void **state)
{
	const struct pilotlight_symbol_frame function = { .name = FUNCTION };
	const struct pilotlight_symbol_frame call = { .parent = 1, .name = CALL };
	static struct fixture fixture;
	uint32_t id;

	*state = &fixture;
	if (!scratch_fixture_init(&fixture.scratch, 1 << 24) || init_arrays(&fixture) < 0)
		return -1;
	if (symbol_frames_add(&fixture.frames, &function, &id) < 0 ||
		symbol_frames_add(&fixture.frames, &call, &id) < 0)
		return -1;
	return symbol_frames_begin_symbols(&fixture.frames, &fixture.scratch.scratch);
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	symbol_frames_done(&fixture->frames);
	scratch_array_done(&fixture->boundaries);
	code_spans_done(&fixture->functions);
	symbol_layer_done(&fixture->layer);
	scratch_fixture_done(&fixture->scratch);
	return 0;
}

/* From `start` to `end`, the call from `call` on. */
static void add_function(struct fixture *fixture, uint32_t start, uint32_t call, uint32_t end)
{
	struct scratch_array *entries = &fixture->functions.entries;
	uint32_t first = (uint32_t)entries->count;
	struct pilotlight_symbol_boundary *boundaries;

	assert_int_equal(scratch_array_reserve(entries, entries->count + 2), 0);
	boundaries = entries->items;
	boundaries[entries->count++] = (struct pilotlight_symbol_boundary){ start, 1 };
	boundaries[entries->count++] = (struct pilotlight_symbol_boundary){ call, 2 };
	assert_int_equal(code_spans_add(&fixture->functions, start, end, first, 1), 0);
}

static void add(struct fixture *fixture, uint32_t start, uint32_t end, uint32_t name, bool is_guess)
{
	assert_int_equal(symbol_layer_add(&fixture->layer, start, end, name, is_guess), 0);
}

struct wanted {
	uint32_t offset;
	uint32_t names[3]; /* from the innermost frame outwards */
};

static void assert_folds_to(struct fixture *fixture, const struct wanted *wanted, size_t count)
{
	const struct pilotlight_symbol_boundary *boundaries;
	const struct pilotlight_symbol_frame *frames;

	assert_int_equal(symbol_layer_fold(&fixture->layer, &fixture->functions, &fixture->frames,
				 &fixture->boundaries),
		0);
	frames = fixture->frames.frames.items;
	boundaries = fixture->boundaries.items;
	assert_int_equal(fixture->boundaries.count, count);
	for (size_t i = 0; i < count; i++) {
		uint32_t at = boundaries[i].frame;

		assert_int_equal(boundaries[i].offset, wanted[i].offset);
		for (size_t depth = 0; depth < 3; depth++, at = frames[at].parent)
			assert_int_equal(frames[at].name, wanted[i].names[depth]);
	}
}

static void an_empty_layer_folds_to_nothing(void **state)
{
	assert_folds_to(*state, NULL, 0);
}

static void a_symbol_names_what_no_function_has(void **state)
{
	const struct wanted wanted[] = { { 5, { SYMBOL } }, { 10, { FUNCTION } },
		{ 20, { CALL, FUNCTION } }, { 30, { SYMBOL } }, { 35, { 0 } }, { 40, { OTHER } },
		{ 50, { 0 } } };
	struct fixture *fixture = *state;

	add_function(fixture, 10, 20, 30);
	add(fixture, 5, 35, SYMBOL, true);
	add(fixture, 40, 50, OTHER, false);
	assert_folds_to(fixture, wanted, ARRAY_SIZE(wanted));
}

static void a_symbol_with_a_size_renames_a_function(void **state)
{
	const struct wanted wanted[] = { { 8, { SYMBOL } }, { 20, { CALL, SYMBOL } },
		{ 25, { CALL, FUNCTION } }, { 28, { CALL, OTHER } }, { 40, { OTHER } },
		{ 60, { 0 } } };
	struct fixture *fixture = *state;

	add_function(fixture, 8, 20, 40);
	add(fixture, 8, 25, SYMBOL, false);
	add(fixture, 25, 28, FUNCTION, false);
	add(fixture, 28, 60, OTHER, false);
	assert_folds_to(fixture, wanted, ARRAY_SIZE(wanted));
	assert_int_equal(fixture->frames.refused, 0);
}

static void of_symbols_that_overlap_the_first_has_the_code(void **state)
{
	const struct wanted wanted[] = { { 10, { SYMBOL } }, { 20, { OTHER } }, { 30, { 0 } } };
	struct fixture *fixture = *state;

	add(fixture, 10, 20, SYMBOL, false);
	add(fixture, 12, 18, OTHER, false);
	add(fixture, 15, 30, OTHER, false);
	add(fixture, 2, 12, OTHER, false);
	add(fixture, 2, 30, OTHER, false);
	add(fixture, 35, 40, 0, false);
	add(fixture, 50, 50, OTHER, false);
	assert_folds_to(fixture, wanted, ARRAY_SIZE(wanted));
}

static void neighbours_of_one_frame_are_one_boundary(void **state)
{
	const struct wanted wanted[] = { { 10, { FUNCTION } }, { 20, { CALL, FUNCTION } },
		{ 30, { FUNCTION } }, { 40, { CALL, FUNCTION } }, { 50, { SYMBOL } },
		{ 70, { 0 } } };
	struct fixture *fixture = *state;

	add_function(fixture, 30, 40, 50);
	add_function(fixture, 10, 20, 30);
	add(fixture, 12, 14, FUNCTION, false);
	add(fixture, 50, 60, SYMBOL, false);
	add(fixture, 60, 70, SYMBOL, true);
	assert_folds_to(fixture, wanted, ARRAY_SIZE(wanted));
}

/* A place names a function only from its start on, and only where nothing else names it. */
static void places_name_the_rest(void **state)
{
	const struct wanted wanted[] = { { 10, { FUNCTION } }, { 20, { CALL, FUNCTION } },
		{ 30, { 0 } }, { 40, { SYMBOL } }, { 60, { 0 } }, { 70, { OTHER } },
		{ 75, { SYMBOL } }, { 80, { 0 } }, { 90, { OTHER } }, { 95, { 0 } } };
	struct fixture *fixture = *state;

	add_function(fixture, 10, 20, 30);
	add(fixture, 40, 60, SYMBOL, true);
	add(fixture, 75, 80, SYMBOL, false);
	assert_int_equal(symbol_layer_add_place(&fixture->layer, 10, 35, OTHER), 0);
	assert_int_equal(symbol_layer_add_place(&fixture->layer, 40, 65, OTHER), 0);
	assert_int_equal(symbol_layer_add_place(&fixture->layer, 50, 66, OTHER), 0);
	assert_int_equal(symbol_layer_add_place(&fixture->layer, 70, 85, OTHER), 0);
	assert_int_equal(symbol_layer_add_place(&fixture->layer, 90, 95, OTHER), 0);
	assert_folds_to(fixture, wanted, ARRAY_SIZE(wanted));
}

static void a_full_scratch_is_an_error(void **state)
{
	struct fixture *fixture = *state;
	int r = 0;

	add(fixture, 1, 2, SYMBOL, false);
	fixture->scratch.scratch.limit_bytes = fixture->scratch.scratch.used_bytes;
	assert_int_equal(symbol_layer_fold(&fixture->layer, &fixture->functions, &fixture->frames,
				 &fixture->boundaries),
		-EFBIG);
	for (uint32_t i = 2; r == 0 && i < 100000; i++)
		r = symbol_layer_add(&fixture->layer, i, i + 1, OTHER, false);
	assert_int_equal(r, -EFBIG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(an_empty_layer_folds_to_nothing, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			a_symbol_names_what_no_function_has, set_up, tear_down),
		cmocka_unit_test_setup_teardown(places_name_the_rest, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			a_symbol_with_a_size_renames_a_function, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			of_symbols_that_overlap_the_first_has_the_code, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			neighbours_of_one_frame_are_one_boundary, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_full_scratch_is_an_error, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
