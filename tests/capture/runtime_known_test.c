/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the kernel side remembers of code objects, compiled for the host. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif
#include "bpf/runtime_known.bpf.h"

/* A code object at 0x1000 of a made-up interpreter; its type is at place 0x40. */
static uint64_t object[PILOTLIGHT_RUNTIME_CODE_MAX / 8];

static const struct pilotlight_runtime runtime = {
	.instruction = PILOTLIGHT_RUNTIME_INDEX,
	.group = PILOTLIGHT_RUNTIME_GROUP_SINGLE,
	.frame_bytes = 24,
	.frame_previous_at = 8,
	.frame_instruction_at = 16,
	.code_type_place = 0x40,
	.object_type_at = 8,
	.code_file_at = 16,
	.code_name_at = 24,
	.code_first_line_at = 32,
	.code_lines_at = 40,
};

static __always_inline int can_copy_user(void *bytes, __u32 size, __u64 address)
{
	const uint64_t frame[] = { 0x1000, 0, 7 };

	if (address == 0x500 && size == sizeof(frame))
		memcpy(bytes, frame, size);
	else if (address == 0x1000 && size == 48)
		memcpy(bytes, object, size);
	else
		return 0;
	return 1;
}

static struct runtime_step step_of_object(void)
{
	struct runtime_walk walk = { .base = 0x400000, .frame = 0x500 };
	struct runtime_step step;

	walk.code_bytes = runtime_code_bytes(&runtime);
	assert_int_equal(runtime_next(&walk, &runtime, &step), RUNTIME_ROOT);
	return step;
}

static int set_up(void **state)
{
	for (size_t i = 0; i < sizeof(object) / sizeof(object[0]); i++)
		object[i] = 0x1111 * i;
	object[1] = 0x400040;
	return 0;
}

static void an_object_is_known_once_it_is_remembered(void **state)
{
	struct runtime_known known = { 0 };
	struct runtime_step step = step_of_object();

	assert_int_equal(step.code, 0x1000);
	assert_int_equal(step.unit, 7);
	assert_false(runtime_is_known(&known, 5, &step));
	runtime_remember(&known, 5, &step, 77);
	assert_true(runtime_is_known(&known, 5, &step));
	assert_int_equal(known.hash, 77);
	assert_false(runtime_is_known(&known, 6, &step));
	step.code += 16;
	assert_false(runtime_is_known(&known, 5, &step));
}

static void another_object_in_its_place_is_not_known(void **state)
{
	static const size_t fields[] = { 2, 3, 4, 5 };
	struct runtime_known known = { 0 };
	struct runtime_step step = step_of_object();

	runtime_remember(&known, 5, &step, 77);
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		(void)set_up(NULL);
		object[fields[i]]++;
		step = step_of_object();
		assert_int_equal(step.code, 0x1000);
		assert_false(runtime_is_known(&known, 5, &step));
	}
	/* The first line has four bytes; what follows may change. */
	(void)set_up(NULL);
	object[4] ^= 1ULL << 32;
	object[0]++;
	step = step_of_object();
	assert_true(runtime_is_known(&known, 5, &step));
	/* It is no code object any more. */
	object[1]++;
	assert_int_equal(step_of_object().code, 0);
}

static void places_are_spread(void **state)
{
	static uint8_t used[RUNTIME_KNOWN];
	struct runtime_step step = { .code = 0x7f0000001000 };
	size_t count = 0;

	for (size_t i = 0; i < RUNTIME_KNOWN; i++, step.code += 0x90) {
		__u32 place = runtime_known_place(5, &step);

		assert_true(place < RUNTIME_KNOWN);
		count += !used[place];
		used[place] = 1;
	}
	assert_true(count > RUNTIME_KNOWN / 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(an_object_is_known_once_it_is_remembered, set_up),
		cmocka_unit_test_setup(another_object_in_its_place_is_not_known, set_up),
		cmocka_unit_test_setup(places_are_spread, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
