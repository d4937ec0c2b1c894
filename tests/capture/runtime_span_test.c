/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The reads of interpreters' frames, compiled for the host: few, and none where memory may end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif
#include "bpf/runtime_walk.bpf.h"

/* Two pages, before which there is none, and one elsewhere. */
enum { STACK = 0x10000, STACK_BYTES = 0x2000, HEAP = 0x80000, HEAP_BYTES = 0x1000, FRAME = 80 };

static uint32_t reads;

static __always_inline int can_copy_user(void *bytes, __u32 size, __u64 address)
{
	reads++;
	if ((address < STACK || address > STACK + STACK_BYTES - size) &&
		(address < HEAP || address > HEAP + HEAP_BYTES - size))
		return 0;
	/* A word says where it is. */
	for (__u32 i = 0; i < size / 8; i++)
		((uint64_t *)bytes)[i] = address + i * 8;
	return 1;
}

/* The span that has the frame, or -1. */
static int find(struct runtime_span spans[RUNTIME_SPANS], uint64_t address)
{
	const struct runtime_span *span = runtime_find_frame(spans, address, FRAME);

	if (!span)
		return -1;
	for (uint32_t at = 0; at < FRAME; at += 8)
		assert_int_equal(runtime_span_word(span, address + at), address + at);
	assert_int_equal((uint8_t)runtime_span_word(span, address + 9), (uint8_t)(address >> 8));
	return (int)(span - spans);
}

static void begin(struct runtime_walk *walk, struct runtime_span spans[RUNTIME_SPANS])
{
	runtime_forget(walk, spans);
	reads = 0;
}

static void frames_of_a_stack_are_read_together(void **state)
{
	struct runtime_span spans[RUNTIME_SPANS];
	struct runtime_walk walk;

	begin(&walk, spans);
	for (uint64_t at = STACK + 0x1ff0 - FRAME; at >= STACK; at -= FRAME)
		assert_int_equal(find(spans, at), 0);
	/* Twelve frames a read; but the memory before a page is not read with it. */
	assert_in_range(reads, 0x1ff0 / FRAME / 12, 0x1ff0 / FRAME / 12 + 3);
}

static void frames_elsewhere_leave_those_of_the_stack(void **state)
{
	struct runtime_span spans[RUNTIME_SPANS];
	struct runtime_walk walk;

	begin(&walk, spans);
	assert_int_equal(find(spans, STACK + 0x800), 0);
	assert_int_equal(find(spans, HEAP + 0x100), 1);
	assert_int_equal(find(spans, HEAP + 0x900), 1);
	assert_int_equal(find(spans, STACK + 0x800 - FRAME), 0);
	assert_int_equal(reads, 3);
}

static void what_cannot_be_read_is_not_found(void **state)
{
	struct runtime_span spans[RUNTIME_SPANS];
	struct runtime_walk walk;

	begin(&walk, spans);
	assert_int_equal(find(spans, STACK - FRAME), -1);
	assert_int_equal(find(spans, STACK + 4), -1);
	assert_int_equal(find(spans, 0), -1);
	begin(&walk, spans);
	assert_int_equal(find(spans, STACK + 8), 0);
	assert_int_equal(find(spans, STACK - FRAME), -1);
	assert_null(runtime_find_frame(spans, STACK, PILOTLIGHT_RUNTIME_FRAME_MAX + 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_of_a_stack_are_read_together),
		cmocka_unit_test(frames_elsewhere_leave_those_of_the_stack),
		cmocka_unit_test(what_cannot_be_read_is_not_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
