/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which native frames run the groups of an interpreter's frames, compiled for the host. */
#include "tests/capture/made_up_stack.h"

static int can_copy_user(void *copy, __u32 size, __u64 address)
{
	return 0;
}

#include "bpf/runtime_perl_place.bpf.h"

#include <stdbool.h>

enum { INTERPRETER = 3, OTHER = 4, FRAME_BYTES = 64, UNKNOWN = PILOTLIGHT_RUNTIME_PLACE_UNKNOWN };

static struct walk walk;

/* Frames of the interpreter, but each fourth is of a library. */
static uint32_t open_walk(uint32_t count)
{
	walk = (struct walk){ .leaf_sp = 0x7000, .runtime.file_id = INTERPRETER };
	walk.record.count = (uint16_t)count;
	for (uint32_t i = 0; i < count; i++) {
		uint64_t file = i % 4 == 3 ? OTHER : INTERPRETER;

		walk.frames[i] = (uint64_t)PILOTLIGHT_FRAME_FILE << PILOTLIGHT_FRAME_KIND_SHIFT |
				 file << PILOTLIGHT_FRAME_FILE_SHIFT;
		if (i < WALK_DEPTHS)
			walk.depths[i] = i * FRAME_BYTES;
	}
	return 0;
}

/* An address on the part of the stack of frame `i`. */
static uint64_t mark_in(uint32_t i)
{
	return walk.leaf_sp + i * FRAME_BYTES + 8;
}

/* As the sampler does: each call looks at some frames. */
static uint32_t find_place(uint32_t *place, uint64_t mark)
{
	uint32_t found = RUNTIME_PLACE_ON;

	while (found == RUNTIME_PLACE_ON)
		found = runtime_find_place(&walk, place, mark);
	return found;
}

static uint32_t count_calls(const struct pilotlight_runtime *runtime)
{
	memset(&walk.calls, 0xff, sizeof(walk.calls)); /* of the last walk */
	walk.calls.count = walk.calls.inner = 0;
	for (uint32_t i = 0; i < walk.record.count; i += RUNTIME_PLACES)
		runtime_count_calls(&walk, runtime, i);
	return walk.calls.count;
}

static void a_group_has_the_frame_on_whose_stack_its_mark_is(void **state)
{
	uint32_t place = open_walk(20);

	assert_int_equal(find_place(&place, mark_in(0)), 0);
	assert_int_equal(find_place(&place, mark_in(4)), 4);
	assert_int_equal(find_place(&place, mark_in(5)), 5);
	assert_int_equal(find_place(&place, mark_in(18)), 18);
	assert_int_equal(place, 19);
}

static void other_marks_have_none(void **state)
{
	uint32_t place = open_walk(20);

	assert_int_equal(find_place(&place, mark_in(5)), 5);
	/* Behind the last one; below the leaf; of a group that was before. */
	assert_int_equal(find_place(&place, mark_in(19)), UNKNOWN);
	assert_int_equal(find_place(&place, mark_in(100)), UNKNOWN);
	assert_int_equal(find_place(&place, walk.leaf_sp - 8), UNKNOWN);
	assert_int_equal(find_place(&place, mark_in(4)), UNKNOWN);
	assert_int_equal(place, 6);
	assert_int_equal(find_place(&place, mark_in(6)), 6);
	place = open_walk(0);
	assert_int_equal(find_place(&place, mark_in(0)), UNKNOWN);
	place = open_walk(1);
	assert_int_equal(find_place(&place, mark_in(0)), UNKNOWN);
}

static void deep_frames_without_depths_have_none(void **state)
{
	uint32_t place = open_walk(WALK_DEPTHS + 10);

	assert_int_equal(find_place(&place, mark_in(WALK_DEPTHS - 2)), WALK_DEPTHS - 2);
	assert_int_equal(find_place(&place, mark_in(WALK_DEPTHS - 1)), UNKNOWN);
}

/* A hostile program's marks all lie far out, in a frame that is not the interpreter's. */
static void the_frames_of_a_stack_are_searched_once(void **state)
{
	uint32_t place = open_walk(500);

	assert_int_equal(find_place(&place, mark_in(495)), UNKNOWN);
	assert_int_equal(place, 496);
	assert_int_equal(find_place(&place, mark_in(495)), UNKNOWN);
	assert_int_equal(place, 496);
	assert_int_equal(find_place(&place, mark_in(496)), 496);
}

/* Puts frames at these offsets of the interpreter's file. */
static void open_calls(const uint64_t *offsets, uint32_t count)
{
	(void)open_walk(count);
	for (uint32_t i = 0; i < count; i++)
		walk.frames[i] = (uint64_t)PILOTLIGHT_FRAME_FILE << PILOTLIGHT_FRAME_KIND_SHIFT |
				 (uint64_t)INTERPRETER << PILOTLIGHT_FRAME_FILE_SHIFT | offsets[i];
}

static void calls_of_the_loop_are_counted(void **state)
{
	struct pilotlight_runtime runtime = {
		.group = PILOTLIGHT_RUNTIME_GROUP_CALL,
		.loop_place = 0x1000,
		.loop_bytes = 0x100,
		.loop_rest_place = 0x800,
		.loop_rest_bytes = 0x10,
	};
	/* In both parts, right behind them, where a return address may be, and elsewhere. */
	static const uint64_t offsets[] = { 0x1001, 0x801, 0x1100, 0x810, 0x1000, 0x1101, 0x811,
		0x800, 0x400, 0 };
	const uint32_t count = sizeof(offsets) / sizeof(offsets[0]);

	open_calls(offsets, count);
	assert_int_equal(count_calls(&runtime), 4);
	/* An instruction that runs is not behind anything. */
	for (uint32_t i = 0; i < count; i++)
		walk.frames[i] |= PILOTLIGHT_FRAME_EXACT;
	assert_int_equal(count_calls(&runtime), 4);
	assert_false(runtime_is_call(&walk, &runtime, walk.frames[2]));
	assert_true(runtime_is_call(&walk, &runtime, walk.frames[4]));
	/* The rest of FINISH is what the loop calls. */
	runtime.group = PILOTLIGHT_RUNTIME_GROUP_FINISH;
	assert_int_equal(count_calls(&runtime), 2);
	assert_true(runtime_is_rest(&walk, &runtime, walk.frames[7]));
	assert_false(runtime_is_rest(&walk, &runtime, walk.frames[4]));
	walk.runtime.file_id = OTHER;
	assert_int_equal(count_calls(&runtime), 0);
	/* Of a deep stack all are counted. */
	(void)open_walk(100);
	runtime.loop_place = -1; /* a return address */
	assert_int_equal(count_calls(&runtime), 75);
	assert_int_equal(walk.calls.frames[2], 0x77777777);
	assert_int_equal(walk.calls.frames[3], 0x7); /* frames 96 to 98 */
	/* Of Ruby, what runs generated code may run it for a call. */
	walk.frames[99] = 0x7f0000000000;
	assert_int_equal(count_calls(&runtime), 75);
	assert_int_equal(walk.calls.frames[3], 0x7);
	runtime.language = PILOTLIGHT_RUNTIME_RUBY;
	assert_int_equal(count_calls(&runtime), 75);
	assert_int_equal(walk.calls.frames[3], 0xf);
}

/* Of CATCH, a call by the rest goes on with the group of the next one. */
static void calls_that_catch_go_on_with_a_group(void **state)
{
	struct pilotlight_runtime runtime = {
		.group = PILOTLIGHT_RUNTIME_GROUP_CATCH,
		.code_type_place = 0x600,
		.code_units_at = 0x20,
		.loop_place = 0x1000,
		.loop_bytes = 0x100,
		.loop_rest_place = 0x800,
		.loop_rest_bytes = 0x10,
	};
	static const uint64_t offsets[] = { 0x400, 0x1001, 0x801, 0x1001, 0x400, 0x1001, 0x610, 0 };

	open_calls(offsets, 8);
	assert_int_equal(count_calls(&runtime), 2);
	assert_int_equal(walk.calls.inner, 1 + 1);
	assert_int_equal(walk.calls.frames[0], 1 << 1 | 1 << 3 | 1 << 5);
	assert_true(runtime_goes_on(&walk, &runtime, 1));
	assert_false(runtime_goes_on(&walk, &runtime, 3));
	assert_false(runtime_is_call(&walk, &runtime, walk.frames[2]));
	assert_true(runtime_has_main(&walk, &runtime));
	runtime.code_type_place = 0x200;
	assert_false(runtime_has_main(&walk, &runtime));
	/* What is behind the last frame is none. */
	open_calls(offsets, 2);
	walk.frames[2] = walk.frames[0] | 0x800;
	assert_int_equal(count_calls(&runtime), 1);
	assert_false(runtime_has_main(&walk, &runtime));
}

static void calls_have_frames_from_the_outermost_on(void **state)
{
	struct pilotlight_runtime runtime = {
		.group = PILOTLIGHT_RUNTIME_GROUP_CALL,
		.loop_place = 0x1000,
		.loop_bytes = 0x100,
		.loop_rest_place = 0x800,
		.loop_rest_bytes = 0x10,
	};
	static const uint64_t function = 0x400, loop = 0x1001, rest = 0x801;

	open_calls(&function, 1);
	walk.has_jit = 0;
	assert_int_equal(runtime_first_call(&walk, &runtime, 5, 5), 0);
	assert_int_equal(runtime_first_call(&walk, &runtime, 6, 5), 1);
	assert_int_equal(runtime_first_call(&walk, &runtime, 7, 5), UNKNOWN);
	assert_int_equal(runtime_first_call(&walk, &runtime, 4, 5), UNKNOWN);
	assert_int_equal(runtime_first_call(&walk, &runtime, 0, 0), 0);
	runtime.group = PILOTLIGHT_RUNTIME_GROUP_FINISH;
	assert_int_equal(runtime_first_call(&walk, &runtime, 6, 5), 1);
	assert_int_equal(runtime_first_call(&walk, &runtime, 4, 5), (uint32_t)-1);
	assert_int_equal(runtime_first_call(&walk, &runtime, 3, 5), UNKNOWN);
	/* The leaf would be within the call that is missing. */
	open_calls(&loop, 1);
	assert_int_equal(runtime_first_call(&walk, &runtime, 4, 5), UNKNOWN);
	open_calls(&rest, 1);
	assert_int_equal(runtime_first_call(&walk, &runtime, 4, 5), UNKNOWN);
	assert_int_equal(runtime_first_call(&walk, &runtime, 5, 5), 0);
	walk.has_jit = WALK_HAS_JIT;
	assert_int_equal(runtime_first_call(&walk, &runtime, 5, 5), 0);
	walk.has_jit |= WALK_GUESSES_JIT;
	assert_int_equal(runtime_first_call(&walk, &runtime, 5, 5), UNKNOWN);
	walk.has_jit = 0;
	runtime.group = PILOTLIGHT_RUNTIME_GROUP_CATCH;
	assert_int_equal(runtime_first_call(&walk, &runtime, 4, 5), (uint32_t)-1);
	runtime.group = PILOTLIGHT_RUNTIME_GROUP_TOP;
	open_calls(&function, 1);
	assert_int_equal(runtime_first_call(&walk, &runtime, 4, 5), (uint32_t)-1);
	open_calls(&rest, 1);
	assert_true(runtime_is_call(&walk, &runtime, walk.frames[0]));
	assert_int_equal(runtime_first_call(&walk, &runtime, 4, 5), UNKNOWN);
}

static void code_without_a_file_is_generated(void **state)
{
	(void)open_walk(1);
	assert_false(runtime_is_generated(walk.frames[0]));
	assert_false(runtime_is_generated(walk.frames[0] | PILOTLIGHT_FRAME_EXACT));
	assert_true(runtime_is_generated(0x7f0000001000));
	assert_true(runtime_is_generated(0x7f0000001000 | PILOTLIGHT_FRAME_EXACT));
}

/* The innermost one of Perl's has none if it returns, or if its caller has made what it runs. */
static void a_call_without_a_group_returns_or_begins(void **state)
{
	(void)open_walk(6);
	assert_true(perl_lacks_group(&walk, 0, 0));
	assert_false(perl_lacks_group(&walk, 0, 1));
	assert_true(perl_lacks_group(&walk, mark_in(0), UINT32_MAX));
	assert_false(perl_lacks_group(&walk, mark_in(1), 2));
	assert_false(perl_lacks_group(&walk, mark_in(2), 2));
	assert_true(perl_lacks_group(&walk, mark_in(3), 2));
	assert_true(perl_lacks_group(&walk, walk.leaf_sp + walk.depths[5] - 1, 2));
	assert_false(perl_lacks_group(&walk, walk.leaf_sp + walk.depths[5], 2));
	assert_false(perl_lacks_group(&walk, walk.leaf_sp - 1, 2));
	assert_false(perl_lacks_group(&walk, 0x555500001000, 0));
}

/* The groups of Perl's calls are known only if it is certain which of both is alone. */
static void groups_of_perl_that_may_be_others_have_no_calls(void **state)
{
	const uint32_t fewer = (uint32_t)-1, call = 2;
	const uint64_t operation = 0x555500001000, made = 0x7000 + 3 * FRAME_BYTES;
	const struct {
		struct runtime_walk perl;
		uint32_t more, call;
		bool is_certain;
		uint32_t callback_at;
	} cases[] = {
		/* Calls of a block that defers, and the innermost call. */
		{ { .running = operation }, 1, call, false, 0 },
		{ { .running = made }, 1, call, true, 0 },
		{ { .running = 0 }, 1, 0, true, 0 },
		{ { .running = 0 }, 1, call, false, 0 },
		/* The innermost call may lack a group, and one of callbacks a call. */
		{ { .running = operation, .callbacks = 1, .callback_at = 1 }, 0, 0, true, 1 },
		{ { .running = made }, 0, call, true, 0 },
		{ { .running = made, .callbacks = 1, .callback_at = 1 }, 0, call, false, 1 },
		{ { .running = 0, .callbacks = 1 }, 0, 0, false, 0 },
		{ { .running = 0, .callbacks = 1, .calls_back = 1 }, 0, 0, true, 0 },
		{ { .running = 0, .callbacks = 2, .calls_back = 1, .callback_at = 3 }, 0, 0, false,
			3 },
		/* A group lacks its call: the innermost, that of callbacks, or either of both. */
		{ { .running = made }, fewer, call, true, 0 },
		{ { .running = operation }, fewer, 0, false, 0 },
		{ { .running = operation, .callbacks = 1 }, fewer, call, true, 0 },
		{ { .running = operation, .callbacks = 1, .callback_at = 1 }, fewer, 0, true, 1 },
		{ { .running = made, .callbacks = 1, .callback_at = 1 }, fewer, call, false, 1 },
		{ { .running = operation, .callbacks = 1, .callback_at = 1, .is_entered = 1 },
			fewer, call, false, 1 },
		{ { .running = operation, .callbacks = 2, .callback_at = 3, .calls_back = 1 },
			fewer, call, false, 0 },
		{ { .running = 0, .callbacks = 2, .callback_at = 3 }, fewer, call, false, 0 },
		{ { .running = 0, .callbacks = 2, .callback_at = 3, .calls_back = 1 }, fewer, call,
			true, 0 },
	};

	(void)open_walk(6);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct runtime_walk perl = cases[i].perl;

		assert_int_equal(perl_is_certain(&walk, &perl, cases[i].more, cases[i].call),
			cases[i].is_certain);
		assert_int_equal(perl.callback_at, cases[i].callback_at);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_group_has_the_frame_on_whose_stack_its_mark_is),
		cmocka_unit_test(other_marks_have_none),
		cmocka_unit_test(deep_frames_without_depths_have_none),
		cmocka_unit_test(the_frames_of_a_stack_are_searched_once),
		cmocka_unit_test(calls_of_the_loop_are_counted),
		cmocka_unit_test(calls_that_catch_go_on_with_a_group),
		cmocka_unit_test(calls_have_frames_from_the_outermost_on),
		cmocka_unit_test(code_without_a_file_is_generated),
		cmocka_unit_test(a_call_without_a_group_returns_or_begins),
		cmocka_unit_test(groups_of_perl_that_may_be_others_have_no_calls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
