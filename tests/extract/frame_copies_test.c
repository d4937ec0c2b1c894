/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/frame_copies.h"
#include "pilotlight/symbol_file.h"
#include "tests/base/scratch_fixture.h"
#include "tests/harness/failing_allocation.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

struct fixture {
	struct scratch_fixture scratch;
	struct scratch_array frames;
	struct frame_copies copies;
};

static uint32_t add_frame(struct fixture *fixture, uint32_t parent, uint32_t name)
{
	assert_int_equal(scratch_array_grow(&fixture->frames), 0);
	((struct pilotlight_symbol_frame *)fixture->frames.items)[fixture->frames.count] =
		(struct pilotlight_symbol_frame){ parent, name, 10 * parent, 11 * name };
	return (uint32_t)fixture->frames.count++;
}

/* Frames: 1 is called 10, in it 2 and 3, in 3 is 4. */
static int set_up(void **state)
{
	static struct fixture fixture;

	*state = &fixture;
	if (!scratch_fixture_init(&fixture.scratch, 1ULL << 30) ||
		scratch_array_init(&fixture.frames, &fixture.scratch.scratch,
			sizeof(struct pilotlight_symbol_frame), UINT32_MAX) < 0)
		return -1;
	(void)add_frame(&fixture, 0, 0);
	(void)add_frame(&fixture, 0, 10);
	(void)add_frame(&fixture, 1, 20);
	(void)add_frame(&fixture, 1, 30);
	(void)add_frame(&fixture, 3, 40);
	return frame_copies_init(&fixture.copies, &fixture.scratch.scratch, &fixture.frames);
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	frame_copies_done(&fixture->copies);
	scratch_array_done(&fixture->frames);
	scratch_fixture_done(&fixture->scratch);
	return 0;
}

static struct pilotlight_symbol_frame frame_of(const struct fixture *fixture, uint32_t id)
{
	assert_true(id < fixture->frames.count);
	return ((const struct pilotlight_symbol_frame *)fixture->frames.items)[id];
}

static uint32_t rename_root(struct fixture *fixture, uint32_t frame, uint32_t name)
{
	uint32_t copy = 0;

	assert_int_equal(frame_copies_rename(&fixture->copies, frame, 1, name, &copy), 0);
	return copy;
}

static void a_chain_is_copied_below_the_new_name(void **state)
{
	struct fixture *fixture = *state;
	uint32_t copy = rename_root(fixture, 4, 99);
	struct pilotlight_symbol_frame inner = frame_of(fixture, copy);
	struct pilotlight_symbol_frame middle = frame_of(fixture, inner.parent);
	struct pilotlight_symbol_frame outer = frame_of(fixture, middle.parent);

	assert_int_equal(fixture->frames.count, 8);
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

	assert_int_equal(fixture->frames.count, 9);
	assert_int_equal(rename_root(fixture, 4, 99), inner);
	assert_int_equal(rename_root(fixture, 3, 99), frame_of(fixture, inner).parent);
	assert_int_equal(rename_root(fixture, 1, 99), frame_of(fixture, sibling).parent);
	assert_int_equal(fixture->frames.count, 9);
	assert_int_not_equal(rename_root(fixture, 4, 98), inner);
	assert_int_equal(fixture->frames.count, 12);
}

static void an_equal_name_needs_no_copy(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(rename_root(fixture, 4, 10), 4);
	assert_int_equal(fixture->frames.count, 5);
}

static void names_only_from_symbols_share_one_frame(void **state)
{
	struct fixture *fixture = *state;
	uint32_t frames[3];

	assert_int_equal(frame_copies_add(&fixture->copies, 10, &frames[0]), 0);
	assert_int_equal(frame_copies_add(&fixture->copies, 50, &frames[1]), 0);
	assert_int_equal(frame_copies_add(&fixture->copies, 10, &frames[2]), 0);
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
	size_t refused = 0;

	for (int i = 0; i < DEPTH; i++)
		innermost = add_frame(fixture, innermost, 20);
	frame_copies_done(&fixture->copies);
	assert_int_equal(
		frame_copies_init(&fixture->copies, &fixture->scratch.scratch, &fixture->frames),
		0);
	for (uint32_t name = 100; name < 100 + NAMES; name++) {
		assert_int_equal(
			frame_copies_rename(&fixture->copies, innermost, root, name, &copy), 0);
		refused += copy == innermost;
	}
	assert_int_equal(refused, NAMES - 3);
	assert_int_equal(fixture->copies.refused, NAMES - 3);
	assert_true(fixture->frames.count < 5 * DEPTH);
}

static void a_full_scratch_is_an_error(void **state)
{
	struct fixture *fixture = *state;
	struct frame_copies copies;
	uint32_t copy;
	int r = 0;

	fixture->scratch.scratch.limit_bytes = fixture->scratch.scratch.used_bytes;
	assert_int_equal(
		frame_copies_init(&copies, &fixture->scratch.scratch, &fixture->frames), -EFBIG);
	assert_int_equal(frame_copies_rename(&fixture->copies, 4, 1, 99, &copy), -EFBIG);
	for (uint32_t name = 100; r == 0 && name < 100000; name++)
		r = frame_copies_add(&fixture->copies, name, &copy);
	assert_int_equal(r, -EFBIG);
}

static void failing_allocations_are_reported(void **state)
{
	struct fixture *fixture = *state;
	uint32_t frame = 77;
	size_t n;
	int r;

	for (n = 0;; n++) {
		fail_allocation(n);
		r = frame_copies_add(&fixture->copies, 10, &frame);
		if (!allocation_failed())
			break;
		assert_int_equal(r, -ENOMEM);
		assert_int_equal(frame, 77);
		assert_int_equal(fixture->frames.count, 5);
	}
	assert_int_equal(r, 0);
	assert_int_equal(n, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_chain_is_copied_below_the_new_name, set_up, tear_down),
		cmocka_unit_test_setup_teardown(copies_are_reused, set_up, tear_down),
		cmocka_unit_test_setup_teardown(an_equal_name_needs_no_copy, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			names_only_from_symbols_share_one_frame, set_up, tear_down),
		cmocka_unit_test_setup_teardown(copies_are_bounded, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_full_scratch_is_an_error, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			failing_allocations_are_reported, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
