/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "resolve/late_stacks.h"
#include "tests/harness/failing_allocation.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { PLENTY = 1 << 20 };

static const struct resolved_frame stack[] = {
	{ .binary = RESOLVED_SYNTHETIC, .name = "[truncated: depth]" },
	{ .binary = 3, .address = 0x1000 },
	{ .binary = 4, .address = 0x2000, .jit = RESOLVED_JIT },
	{ .binary = 4, .address = 0x3000, .jit = RESOLVED_JIT_SHARED },
	{ .binary = 5, .address = 0x10, .name = "do_idle" },
};
enum { FRAMES = sizeof(stack) / sizeof(stack[0]) };

static void assert_is_stack(const struct late_stacks *stacks, uint32_t id)
{
	struct resolved_frame frames[RESOLVED_FRAMES_MAX];

	assert_int_equal(late_stacks_get(stacks, id, frames), FRAMES);
	for (size_t i = 0; i < FRAMES; i++) {
		assert_int_equal(frames[i].address, stack[i].address);
		assert_int_equal(frames[i].binary, stack[i].binary);
		assert_int_equal(frames[i].jit, stack[i].jit);
		if (stack[i].name)
			assert_string_equal(frames[i].name, stack[i].name);
		else
			assert_null(frames[i].name);
		assert_null(frames[i].file);
		assert_int_equal(frames[i].line, 0);
	}
}

static void equal_stacks_are_kept_once(void **state)
{
	struct resolved_frame other[FRAMES];
	struct late_stacks stacks;
	uint32_t first, again, id;

	assert_int_equal(late_stacks_init(&stacks, PLENTY), 0);
	assert_int_equal(late_stacks_intern(&stacks, stack, FRAMES, &first), 0);
	assert_int_equal(late_stacks_intern(&stacks, stack, FRAMES, &again), 0);
	assert_int_equal(again, first);
	assert_int_equal(late_stacks_intern(&stacks, stack, FRAMES - 1, &id), 0);
	assert_int_not_equal(id, first);
	for (int field = 0; field < 4; field++) {
		memcpy(other, stack, sizeof(other));
		other[2].address += field == 0;
		other[2].binary += field == 1;
		other[2].jit = field == 2 ? RESOLVED_JIT_SHARED : RESOLVED_JIT;
		other[4].name = field == 3 ? "do_work" : "do_idle";
		assert_int_equal(late_stacks_intern(&stacks, other, FRAMES, &id), 0);
		assert_int_not_equal(id, first);
	}
	assert_is_stack(&stacks, first);
	late_stacks_done(&stacks);
}

static void a_stack_may_be_empty(void **state)
{
	struct resolved_frame frames[RESOLVED_FRAMES_MAX];
	struct late_stacks stacks;
	uint32_t first, again;

	assert_int_equal(late_stacks_init(&stacks, PLENTY), 0);
	assert_int_equal(late_stacks_intern(&stacks, stack, 0, &first), 0);
	assert_int_equal(late_stacks_intern(&stacks, stack, 0, &again), 0);
	assert_int_equal(again, first);
	assert_int_equal(late_stacks_get(&stacks, first, frames), 0);
	late_stacks_done(&stacks);
}

static void many_stacks_survive_growth(void **state)
{
	struct late_stacks stacks;
	struct resolved_frame frames[RESOLVED_FRAMES_MAX] = { 0 };
	char name[32];
	uint32_t id;

	assert_int_equal(late_stacks_init(&stacks, PLENTY), 0);
	for (uint32_t i = 0; i < 3000; i++) {
		(void)snprintf(name, sizeof(name), "f%u", i);
		frames[0].name = name;
		assert_int_equal(late_stacks_intern(&stacks, frames, 1 + i % 100, &id), 0);
		assert_int_equal(id, i);
	}
	for (uint32_t i = 0; i < 3000; i++) {
		(void)snprintf(name, sizeof(name), "f%u", i);
		assert_int_equal(late_stacks_get(&stacks, i, frames), 1 + i % 100);
		assert_string_equal(frames[0].name, name);
	}
	/* What 3000 stacks of 50 frames take at the least. */
	assert_true(late_stacks_bytes(&stacks) > 3000 * 50 * 16);
	late_stacks_done(&stacks);
}

static void full_names_refuse(void **state)
{
	const struct resolved_frame frame = { .name = "do_idle" }, more = { .name = "x" };
	struct late_stacks stacks;
	uint32_t id = 77;

	assert_int_equal(late_stacks_init(&stacks, 9), 0);
	assert_int_equal(late_stacks_intern(&stacks, &frame, 1, &id), 0);
	assert_int_equal(id, 0);
	assert_int_equal(late_stacks_intern(&stacks, &more, 1, &id), -E2BIG);
	assert_int_equal(id, 0);
	late_stacks_done(&stacks);
}

static void failing_allocations_are_reported(void **state)
{
	struct late_stacks stacks;
	uint32_t id;
	size_t n;
	int r;

	for (n = 0;; n++) {
		fail_allocation(n);
		r = late_stacks_init(&stacks, PLENTY);
		if (r == 0) {
			r = late_stacks_intern(&stacks, stack, FRAMES, &id);
			if (r < 0)
				assert_int_equal(
					late_stacks_intern(&stacks, stack, FRAMES, &id), 0);
			assert_is_stack(&stacks, id);
			late_stacks_done(&stacks);
		}
		if (!allocation_failed())
			break;
		assert_int_equal(r, -ENOMEM);
	}
	assert_int_equal(r, 0);
	assert_true(n >= 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_stacks_are_kept_once),
		cmocka_unit_test(a_stack_may_be_empty),
		cmocka_unit_test(many_stacks_survive_growth),
		cmocka_unit_test(full_names_refuse),
		cmocka_unit_test(failing_allocations_are_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
