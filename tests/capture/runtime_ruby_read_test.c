/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The reads of Ruby's frames, compiled for the host: few, and those before an absent page are
 * found. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif
#include "bpf/runtime_ruby.bpf.h"

/* A VM stack of two pages: environments from its start on, control frames up to its end. Every
 * third frame is of a function of C. */
enum {
	PAGE = 0x1000,
	STACK = 0x10000,
	STACK_END = STACK + 2 * PAGE,
	HEAP = 0x80000,
	STATE = HEAP + 0x100,
	SEQUENCE = HEAP + 0x200,
	BODY = HEAP + 0x300,
	NAME = HEAP + 0x400,
	FILE_NAME = HEAP + 0x500,
	ENTRY = HEAP + 0x600,
	DEFINITION = HEAP + 0x700,
	INSTRUCTIONS = HEAP + 0x800,
	FRAME_BYTES = 64,
	FRAMES = 80,
	ENVIRONMENT_BYTES = 32,
	FUNCTION_EACH = 3,
	FLAGS_FUNCTION = 0x55550081,
	FLAGS_METHOD = 0x11110003,
};

static const struct pilotlight_runtime runtime = {
	.anchor = PILOTLIGHT_RUNTIME_GLOBAL,
	.anchor_place = HEAP,
	.state_thread_at = PILOTLIGHT_RUNTIME_NONE,
	.group_least = 170,
	.frame_bytes = FRAME_BYTES,
	.frame_code_at = 16,
	.frame_group_at = 32,
	.code_units_at = 8,
	.code_file_at = 64,
	.code_name_at = 80,
	.code_first_line_at = 88,
	.code_lines_at = 120,
};

static uint8_t stack[2 * PAGE], heap[PAGE];
static uint32_t reads;
static bool is_second_page_absent;

static __always_inline int can_copy_user(void *bytes, __u32 size, __u64 address)
{
	uint64_t end = is_second_page_absent ? STACK + PAGE : STACK_END;

	reads++;
	if (address >= STACK && address + size <= end)
		memcpy(bytes, stack + (address - STACK), size);
	else if (address >= HEAP && address + size <= HEAP + PAGE)
		memcpy(bytes, heap + (address - HEAP), size);
	else
		return 0;
	return 1;
}

static void put(uint64_t address, uint64_t word)
{
	uint8_t *at = address >= HEAP ? heap + (address - HEAP) : stack + (address - STACK);

	memcpy(at, &word, sizeof(word));
}

static bool is_function(uint32_t frame)
{
	return frame % FUNCTION_EACH == 1;
}

/* Frame 0 is the innermost, whose environment is the last. */
static void put_frame(uint32_t frame)
{
	uint64_t at = STACK_END - (FRAMES + 1 - frame) * FRAME_BYTES;
	uint64_t environment = STACK + (FRAMES - frame) * ENVIRONMENT_BYTES;

	put(at, is_function(frame) ? 0 : INSTRUCTIONS + 8 * (frame + 1));
	put(at + 16, is_function(frame) ? 0 : SEQUENCE);
	put(at + 32, environment);
	put(environment, is_function(frame) ? FLAGS_FUNCTION : FLAGS_METHOD);
	put(environment - 16, is_function(frame) ? ENTRY : 0);
}

static int set_up(void **state)
{
	memset(stack, 0, sizeof(stack));
	memset(heap, 0, sizeof(heap));
	is_second_page_absent = false;
	for (uint32_t frame = 0; frame < FRAMES; frame++)
		put_frame(frame);
	put(HEAP, STATE);
	put(STATE, STACK);
	put(STATE + 8, sizeof(stack) / 8);
	put(STATE + 16, STACK_END - (FRAMES + 1) * FRAME_BYTES);
	put(SEQUENCE, RUBY_TYPE_INTERNAL | RUBY_SEQUENCE << RUBY_KIND_SHIFT);
	put(SEQUENCE + 16, BODY);
	put(BODY, 100ULL << 32);
	put(BODY + 8, INSTRUCTIONS);
	put(BODY + 64, FILE_NAME);
	put(BODY + 80, NAME);
	put(ENTRY, RUBY_TYPE_INTERNAL | RUBY_ENTRY << RUBY_KIND_SHIFT);
	put(ENTRY + 16, DEFINITION);
	return 0;
}

/* How many frames, from the innermost on, are found as they are. */
static uint32_t count_frames(enum runtime_end *end)
{
	struct runtime_span spans[RUNTIME_SPANS];
	struct runtime_walk walk = { 0 };
	struct runtime_step step;
	uint32_t count = 0;

	reads = 0;
	for (*end = ruby_begin(&walk, spans, &runtime); *end == RUNTIME_ON; count++) {
		*end = ruby_next(&walk, spans, &runtime, &step);
		if (*end == RUNTIME_UNREADABLE)
			break;
		assert_int_equal(step.code, is_function(count) ? DEFINITION : SEQUENCE);
		assert_int_equal(
			step.unit, is_function(count) ? RUNTIME_UNIT_UNKNOWN : (__s32)count);
		assert_int_equal(walk.function, is_function(count) ? DEFINITION : 0);
	}
	return count;
}

static void frames_are_read_together(void **state)
{
	enum runtime_end end;

	assert_int_equal(count_frames(&end), FRAMES);
	assert_int_equal(end, RUNTIME_ROOT);
	/* Two for the state; 15 frames a read; 31 environments a read, with the entries below them,
	 * but for those of the last ones; five for a sequence and an entry. */
	assert_in_range(reads, 2 + 6 + 3 + 5, 2 + 6 + 3 + 5 + 3);
}

static void an_absent_page_hides_its_frames_alone(void **state)
{
	enum runtime_end end;

	is_second_page_absent = true;
	assert_int_equal(count_frames(&end), FRAMES + 1 - PAGE / FRAME_BYTES);
	assert_int_equal(end, RUNTIME_UNREADABLE);
}

/* A group might be missing. */
static void frames_without_flags_end_the_walk(void **state)
{
	enum runtime_end end;

	put(STACK_END - (FRAMES + 1 - 3) * FRAME_BYTES + 32, HEAP + PAGE);
	assert_int_equal(count_frames(&end), 3);
	assert_int_equal(end, RUNTIME_UNREADABLE);
}

/* A block that has outlived them has them in the heap. */
static void environments_may_be_elsewhere(void **state)
{
	enum runtime_end end;

	put(STACK_END - (FRAMES + 1 - 3) * FRAME_BYTES + 32, HEAP + 0x900);
	put(HEAP + 0x900, FLAGS_METHOD);
	assert_int_equal(count_frames(&end), FRAMES);
	assert_int_equal(end, RUNTIME_ROOT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(frames_are_read_together, set_up),
		cmocka_unit_test_setup(an_absent_page_hides_its_frames_alone, set_up),
		cmocka_unit_test_setup(frames_without_flags_end_the_walk, set_up),
		cmocka_unit_test_setup(environments_may_be_elsewhere, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
