/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/symbol_frames.h"
#include "tests/base/scratch_fixture.h"
#include "tests/harness/failing_allocation.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { FRAMES = 40, BOUNDARIES = 20 }; /* of a random tree */

struct fixture {
	struct scratch_fixture scratch;
	struct symbol_frames frames;
};

static uint32_t add_frame(struct fixture *fixture, uint32_t parent, uint32_t name)
{
	const struct pilotlight_symbol_frame frame = { parent, name, 10 * parent, 11 * name };
	uint32_t id = 0;

	assert_int_equal(symbol_frames_add(&fixture->frames, &frame, &id), 0);
	return id;
}

static int set_up(void **state)
{
	static struct fixture fixture;

	*state = &fixture;
	if (!scratch_fixture_init(&fixture.scratch, 1ULL << 30))
		return -1;
	return symbol_frames_init(&fixture.frames, &fixture.scratch.scratch);
}

/* Frames: 1 is called 10, in it 2 and 3, in 3 is 4. */
static int set_up_function(void **state)
{
	struct fixture *fixture;
	int r = set_up(state);

	if (r < 0)
		return r;
	fixture = *state;
	(void)add_frame(fixture, 0, 10);
	(void)add_frame(fixture, 1, 20);
	(void)add_frame(fixture, 1, 30);
	(void)add_frame(fixture, 3, 40);
	return symbol_frames_begin_symbols(&fixture->frames, &fixture->scratch.scratch);
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	symbol_frames_done(&fixture->frames);
	scratch_fixture_done(&fixture->scratch);
	return 0;
}

static struct pilotlight_symbol_frame frame_of(const struct fixture *fixture, uint32_t id)
{
	assert_true(id < fixture->frames.frames.count);
	return ((const struct pilotlight_symbol_frame *)fixture->frames.frames.items)[id];
}

static uint32_t rename_root(struct fixture *fixture, uint32_t frame, uint32_t name)
{
	uint32_t copy = 0;

	assert_int_equal(symbol_frames_rename(&fixture->frames, frame, 1, name, &copy), 0);
	return copy;
}

static void a_chain_is_copied_below_the_new_name(void **state)
{
	struct fixture *fixture = *state;
	uint32_t copy = rename_root(fixture, 4, 99);
	struct pilotlight_symbol_frame inner = frame_of(fixture, copy);
	struct pilotlight_symbol_frame middle = frame_of(fixture, inner.parent);
	struct pilotlight_symbol_frame outer = frame_of(fixture, middle.parent);

	assert_int_equal(fixture->frames.frames.count, 8);
	assert_true(middle.parent < inner.parent && inner.parent < copy);
	assert_int_equal(inner.name, 40);
	assert_int_equal(inner.call_low, 30);
	assert_int_equal(inner.call_high, 440);
	assert_int_equal(middle.name, 30);
	assert_int_equal(middle.call_low, 10);
	assert_int_equal(outer.name, 99);
	assert_int_equal(outer.parent, 0);
	assert_int_equal(frame_of(fixture, 1).name, 10);
}

static void copies_are_reused(void **state)
{
	struct fixture *fixture = *state;
	uint32_t inner = rename_root(fixture, 4, 99);
	uint32_t sibling = rename_root(fixture, 2, 99);

	assert_int_equal(fixture->frames.frames.count, 9);
	assert_int_equal(rename_root(fixture, 4, 99), inner);
	assert_int_equal(rename_root(fixture, 3, 99), frame_of(fixture, inner).parent);
	assert_int_equal(rename_root(fixture, 1, 99), frame_of(fixture, sibling).parent);
	assert_int_equal(fixture->frames.frames.count, 9);
	assert_int_not_equal(rename_root(fixture, 4, 98), inner);
	assert_int_equal(fixture->frames.frames.count, 12);
}

static void an_equal_name_needs_no_copy(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(rename_root(fixture, 4, 10), 4);
	assert_int_equal(fixture->frames.frames.count, 5);
}

static void names_only_from_symbols_share_one_frame(void **state)
{
	struct fixture *fixture = *state;
	uint32_t frames[3];

	assert_int_equal(symbol_frames_find_symbol(&fixture->frames, 10, &frames[0]), 0);
	assert_int_equal(symbol_frames_find_symbol(&fixture->frames, 50, &frames[1]), 0);
	assert_int_equal(symbol_frames_find_symbol(&fixture->frames, 10, &frames[2]), 0);
	assert_int_equal(frames[0], 5);
	assert_int_equal(frames[1], 6);
	assert_int_equal(frames[2], 5);
	assert_int_equal(frame_of(fixture, 6).name, 50);
	assert_int_equal(frame_of(fixture, 6).parent, 0);
}

/* A chain of many calls under a symbol for each byte would be copied for each of them. */
static void copies_are_bounded(void **state)
{
	enum { DEPTH = 50000, NAMES = 1000000 };
	struct fixture *fixture = *state;
	uint32_t root = add_frame(fixture, 0, 10), innermost = root, copy;
	struct symbol_frames *frames = &fixture->frames;
	size_t refused = 0;

	for (int i = 0; i < DEPTH; i++)
		innermost = add_frame(fixture, innermost, 20);
	assert_int_equal(symbol_frames_begin_symbols(frames, &fixture->scratch.scratch), 0);
	for (uint32_t name = 100; name < 100 + NAMES; name++) {
		assert_int_equal(symbol_frames_rename(frames, innermost, root, name, &copy), 0);
		refused += copy == innermost;
	}
	assert_int_equal(refused, NAMES - 3);
	assert_int_equal(frames->refused, NAMES - 3);
	assert_true(fixture->frames.frames.count < 5 * DEPTH);
}

/* Names are the ids of before. */
static void fill(
	struct fixture *fixture, struct scratch_array *array, uint32_t expected[BOUNDARIES][FRAMES])
{
	const struct pilotlight_symbol_frame *frames;
	struct pilotlight_symbol_boundary *boundaries;

	assert_int_equal(scratch_array_init(
				 array, &fixture->scratch.scratch, sizeof(*boundaries), BOUNDARIES),
		0);
	assert_int_equal(scratch_array_reserve(array, BOUNDARIES), 0);
	array->count = BOUNDARIES;
	boundaries = array->items;
	for (uint32_t i = 1; i < FRAMES; i++)
		(void)add_frame(fixture, (uint32_t)random() % i, i);
	frames = fixture->frames.frames.items;
	for (uint32_t i = 0; i < BOUNDARIES; i++) {
		uint32_t depth = 0;

		boundaries[i].frame = (uint32_t)random() % FRAMES;
		for (uint32_t at = boundaries[i].frame; at > 0; at = frames[at].parent)
			expected[i][depth++] = at;
		expected[i][depth] = 0;
	}
}

static void frames_with_code_and_their_callers_stay(void **state)
{
	srandom(1);
	for (int round = 0; round < 300; round++) {
		_cleanup_(scratch_array_done) struct scratch_array array = { 0 };
		uint32_t expected[BOUNDARIES][FRAMES];
		bool is_used[FRAMES] = { true };
		const struct pilotlight_symbol_boundary *boundaries;
		const struct pilotlight_symbol_frame *frames;
		struct fixture *fixture;
		size_t used = 0;

		assert_int_equal(set_up(state), 0);
		fixture = *state;
		fill(fixture, &array, expected);
		assert_int_equal(symbol_frames_remove_unused(
					 &fixture->frames, &fixture->scratch.scratch, &array),
			0);
		frames = fixture->frames.frames.items;
		boundaries = array.items;
		for (size_t i = 0; i < BOUNDARIES; i++) {
			uint32_t at = boundaries[i].frame;

			for (size_t depth = 0;; depth++, at = frames[at].parent) {
				assert_true(at < fixture->frames.frames.count);
				assert_int_equal(frames[at].name, expected[i][depth]);
				assert_int_equal(frames[at].call_high, 11 * expected[i][depth]);
				is_used[expected[i][depth]] = true;
				if (at == 0)
					break;
				assert_true(frames[at].parent < at);
			}
		}
		for (size_t i = 0; i < FRAMES; i++)
			used += is_used[i];
		assert_int_equal(fixture->frames.frames.count, used);
		scratch_array_done(&array);
		assert_int_equal(tear_down(state), 0);
	}
}

static void a_full_scratch_is_an_error(void **state)
{
	struct fixture *fixture = *state;
	struct scratch *scratch = &fixture->scratch.scratch;
	struct scratch_array no_boundaries = { 0 };
	struct symbol_frames frames;
	uint32_t copy;
	int r = 0;

	scratch->limit_bytes = scratch->used_bytes;
	assert_int_equal(symbol_frames_init(&frames, scratch), -EFBIG);
	symbol_frames_done(&frames);
	assert_int_equal(
		symbol_frames_remove_unused(&fixture->frames, scratch, &no_boundaries), -EFBIG);
	assert_int_equal(symbol_frames_rename(&fixture->frames, 4, 1, 99, &copy), -EFBIG);
	assert_int_equal(fixture->frames.frames.count, 5);
	for (uint32_t name = 100; r == 0 && name < 100000; name++)
		r = symbol_frames_find_symbol(&fixture->frames, name, &copy);
	assert_int_equal(r, -EFBIG);
}

static void failing_allocations_are_reported(void **state)
{
	struct fixture *fixture = *state;
	uint32_t frame = 77;

	assert_int_equal(
		FAIL_EACH_ALLOCATION(symbol_frames_find_symbol(&fixture->frames, 10, &frame),
			-ENOMEM, frame == 77 && fixture->frames.frames.count == 5, 0),
		1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_chain_is_copied_below_the_new_name, set_up_function, tear_down),
		cmocka_unit_test_setup_teardown(copies_are_reused, set_up_function, tear_down),
		cmocka_unit_test_setup_teardown(
			an_equal_name_needs_no_copy, set_up_function, tear_down),
		cmocka_unit_test_setup_teardown(
			names_only_from_symbols_share_one_frame, set_up_function, tear_down),
		cmocka_unit_test(frames_with_code_and_their_callers_stay),
		cmocka_unit_test_setup_teardown(copies_are_bounded, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			a_full_scratch_is_an_error, set_up_function, tear_down),
		cmocka_unit_test_setup_teardown(
			failing_allocations_are_reported, set_up_function, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
