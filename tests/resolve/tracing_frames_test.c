/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which frames of a stack are those of our own tracing. */
#include "base/array.h"
#include "resolve/tracing_frames.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Names root first; NULL: user code, which has no name yet. */
static size_t count_of(const char *const *names, size_t count)
{
	struct resolved_frame frames[32] = { 0 };

	assert_true(count <= ARRAY_SIZE(frames));
	for (size_t i = 0; i < count; i++)
		frames[i].name = names[i];
	return tracing_frames_count(frames, count);
}

static void test_call_of_a_program(void **state)
{
	const char *const names[] = { NULL, NULL, "do_syscall_64", "kmem_cache_alloc_noprof",
		"__traceiter_kmem_cache_alloc", "bpf_trampoline_6442571824",
		"bpf_prog_6deef7357e7b4530_note", "bpf_get_stack" };

	(void)state;
	assert_int_equal(count_of(names, ARRAY_SIZE(names)), 4);
	assert_int_equal(count_of(names, 4), 0);
	assert_int_equal(count_of(names, 0), 0);
}

/* A software event's program is called in another way. */
static void test_page_fault(void **state)
{
	const char *const names[] = { NULL, "asm_exc_page_fault", "exc_page_fault",
		"do_user_addr_fault", "handle_mm_fault", "___perf_sw_event",
		"perf_swevent_overflow", "__perf_event_overflow",
		"bpf_prog_0123456789abcdef_count" };

	(void)state;
	assert_int_equal(count_of(names, ARRAY_SIZE(names)), 4);
}

static void test_only_near_the_leaf(void **state)
{
	const char *names[24];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		names[i] = "vfs_read";
	names[2] = "bpf_prog_of_another_tracer";
	assert_int_equal(count_of(names, ARRAY_SIZE(names)), 0);
	names[12] = "bpf_prog_ours";
	assert_int_equal(count_of(names, ARRAY_SIZE(names)), 12);
}

/* Generated code of a user may have any name. */
static void test_generated_code(void **state)
{
	struct resolved_frame frames[] = {
		{ .name = "vfs_read" },
		{ .name = "bpf_prog_0", .jit = RESOLVED_JIT },
	};

	(void)state;
	assert_int_equal(tracing_frames_count(frames, ARRAY_SIZE(frames)), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_call_of_a_program),
		cmocka_unit_test(test_page_fault),
		cmocka_unit_test(test_only_near_the_leaf),
		cmocka_unit_test(test_generated_code),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
