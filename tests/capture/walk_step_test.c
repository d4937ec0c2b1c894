/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The steps of the sampler's walk, compiled for the host, on stacks that are made here. */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif
#include "bpf/walk_step.bpf.h"

enum { STACK_WORDS = 64 };
#define STACK_START 0x7ffc00000000ULL

static __u64 stack[STACK_WORDS];

static __always_inline int can_read_user(__u64 *words, __u32 count, __u64 address)
{
	if (address < STACK_START || address % 8 != 0 ||
		address + count * 8 > STACK_START + sizeof(stack))
		return 0;
	memcpy(words, stack + (address - STACK_START) / 8, count * 8);
	return 1;
}

static __u64 at(unsigned word)
{
	return STACK_START + 8 * word;
}

static struct walk walk_at(unsigned sp, unsigned fp)
{
	struct walk walk = { .ip = 0x401000, .sp = at(sp), .fp = at(fp), .has_fp = 1 };

	walk.is_exact = 1;
	walk.registers_kind = REGISTERS_PT_REGS;
	memset(stack, 0, sizeof(stack));
	return walk;
}

static void rules_from_the_stack_pointer_find_the_caller(void **state)
{
	const struct pilotlight_unwind_rule rule = {
		.kind = PILOTLIGHT_UNWIND_CFA,
		.base = DWARF_RSP,
		.frame_pointer = PILOTLIGHT_UNWIND_FP_AT_CFA,
		.offset = 48,
		.frame_pointer_offset = -32,
		.return_address_offset = -8,
	};
	struct walk walk = walk_at(4, 40);

	(void)state;
	stack[9] = 0x402000; /* return address */
	stack[6] = at(50);   /* saved rbp */
	assert_int_equal(step_by_rule(&walk, &rule), WALK_ON);
	assert_int_equal(walk.ip, 0x402000);
	assert_int_equal(walk.sp, at(10));
	assert_int_equal(walk.fp, at(50));
	assert_int_equal(walk.is_exact, 0);
	assert_int_equal(walk.registers_kind, REGISTERS_NONE);
}

static void a_frame_pointer_right_below_the_return_address_is_read_with_it(void **state)
{
	const struct pilotlight_unwind_rule rule = {
		.kind = PILOTLIGHT_UNWIND_CFA,
		.base = DWARF_RBP,
		.frame_pointer = PILOTLIGHT_UNWIND_FP_AT_CFA,
		.offset = 16,
		.frame_pointer_offset = -16,
	};
	struct walk walk = walk_at(4, 8);

	(void)state;
	stack[8] = 1; /* no address, and no reason to stop */
	stack[9] = 0x402000;
	assert_int_equal(step_by_rule(&walk, &rule), WALK_ON);
	assert_int_equal(walk.fp, 1);
	assert_int_equal(walk.ip, 0x402000);
	assert_int_equal(walk.sp, at(10));
}

static void a_realigned_stack_keeps_its_frame_address_in_memory(void **state)
{
	const struct pilotlight_unwind_rule rule = {
		.kind = PILOTLIGHT_UNWIND_CFA_AT,
		.base = DWARF_RBP,
		.frame_pointer = PILOTLIGHT_UNWIND_FP_AT_FP,
		.addend = 8,
		.offset = -8,
	};
	struct walk walk = walk_at(4, 20);

	(void)state;
	stack[19] = at(29); /* the CFA less 8 */
	stack[20] = at(60); /* saved rbp */
	stack[29] = 0x403000;
	assert_int_equal(step_by_rule(&walk, &rule), WALK_ON);
	assert_int_equal(walk.ip, 0x403000);
	assert_int_equal(walk.sp, at(30));
	assert_int_equal(walk.fp, at(60));
}

static void stubs_have_pushed_a_word_in_their_second_part(void **state)
{
	const struct pilotlight_unwind_rule rule = { .kind = PILOTLIGHT_UNWIND_PLT, .offset = 11 };

	(void)state;
	for (unsigned byte = 0; byte < 16; byte++) {
		struct walk walk = walk_at(4, 8);

		walk.ip = 0x401020 + byte;
		stack[4] = 0x402000;
		stack[5] = 0x403000;
		assert_int_equal(step_by_rule(&walk, &rule), WALK_ON);
		assert_int_equal(walk.ip, byte >= 11 ? 0x403000 : 0x402000);
		assert_int_equal(walk.sp, byte >= 11 ? at(6) : at(5));
		assert_int_equal(walk.fp, at(8));
	}
}

static void other_registers_are_known_of_the_leaf_alone(void **state)
{
	/* Where struct pt_regs has what DWARF counts: bx is 3 and r10 is 10. */
	static const struct {
		__u8 number, place;
	} registers[] = { { 3, 5 }, { 10, 7 }, { 15, 0 }, { 0, 10 } };
	struct pilotlight_unwind_rule rule = { .kind = PILOTLIGHT_UNWIND_CFA };

	(void)state;
	for (size_t i = 0; i < sizeof(registers) / sizeof(registers[0]); i++) {
		struct walk walk = walk_at(4, 8);

		rule.base = registers[i].number;
		walk.registers[registers[i].place] = at(12);
		stack[11] = 0x402000;
		assert_int_equal(step_by_rule(&walk, &rule), WALK_ON);
		assert_int_equal(walk.ip, 0x402000);
		assert_int_equal(step_by_rule(&walk, &rule), PILOTLIGHT_WALK_UNSUPPORTED);
	}
	for (unsigned number = DWARF_REGISTERS; number < 256; number++) {
		struct walk walk = walk_at(4, 8);

		rule.base = (__u8)number;
		assert_int_equal(step_by_rule(&walk, &rule), PILOTLIGHT_WALK_UNSUPPORTED);
	}
}

static void a_signal_frame_gives_all_registers_back(void **state)
{
	const struct pilotlight_unwind_rule rule = { .kind = PILOTLIGHT_UNWIND_SIGNAL };
	const struct pilotlight_unwind_rule by_r10 = {
		.kind = PILOTLIGHT_UNWIND_CFA, .base = 10, .offset = 8
	};
	struct walk walk = walk_at(4, 8);
	__u64 *gregs = stack + 4 + UCONTEXT_GREGS_BYTES / 8;

	(void)state;
	gregs[GREGS_RIP] = 0x405000;
	gregs[GREGS_RSP] = at(40); /* of another stack it may be below */
	gregs[GREGS_RBP] = at(44);
	gregs[2] = at(50); /* r10 */
	walk.has_fp = 0;
	assert_int_equal(step_by_rule(&walk, &rule), WALK_ON);
	assert_int_equal(walk.ip, 0x405000);
	assert_int_equal(walk.sp, at(40));
	assert_int_equal(walk.fp, at(44));
	assert_int_equal(walk.is_exact, 1);
	assert_int_equal(walk.has_fp, 1);
	stack[50] = 0x406000;
	assert_int_equal(step_by_rule(&walk, &by_r10), WALK_ON);
	assert_int_equal(walk.ip, 0x406000);

	walk = walk_at(STACK_WORDS - 2, 8);
	assert_int_equal(step_by_rule(&walk, &rule), PILOTLIGHT_WALK_UNREADABLE);
}

static void walks_end_for_a_reason(void **state)
{
	struct pilotlight_unwind_rule rule = {
		.kind = PILOTLIGHT_UNWIND_CFA, .base = DWARF_RSP, .offset = 16
	};
	struct walk walk = walk_at(4, 8);

	(void)state;
	assert_int_equal(step_by_rule(&walk, &rule), PILOTLIGHT_WALK_ROOT); /* address 0 */
	rule.offset = 0;
	assert_int_equal(step_by_rule(&walk, &rule), PILOTLIGHT_WALK_LOOPED);
	rule.offset = -8;
	assert_int_equal(step_by_rule(&walk, &rule), PILOTLIGHT_WALK_LOOPED);
	rule.offset = 1 << 20;
	assert_int_equal(step_by_rule(&walk, &rule), PILOTLIGHT_WALK_UNREADABLE);
	rule.kind = PILOTLIGHT_UNWIND_CFA_AT;
	assert_int_equal(step_by_rule(&walk, &rule), PILOTLIGHT_WALK_UNREADABLE);
	rule.kind = PILOTLIGHT_UNWIND_CFA;
	rule.base = DWARF_RBP;
	walk.fp = 0;
	assert_int_equal(step_by_rule(&walk, &rule), PILOTLIGHT_WALK_ROOT);
	rule.kind = PILOTLIGHT_UNWIND_ROOT;
	assert_int_equal(step_by_rule(&walk, &rule), PILOTLIGHT_WALK_ROOT);
	rule.kind = PILOTLIGHT_UNWIND_UNSUPPORTED;
	assert_int_equal(step_by_rule(&walk, &rule), PILOTLIGHT_WALK_UNSUPPORTED);
	rule.kind = PILOTLIGHT_UNWIND_KINDS;
	assert_int_equal(step_by_rule(&walk, &rule), PILOTLIGHT_WALK_UNSUPPORTED);
}

static void a_lost_frame_pointer_ends_only_what_needs_it(void **state)
{
	struct pilotlight_unwind_rule rule = {
		.kind = PILOTLIGHT_UNWIND_CFA,
		.base = DWARF_RSP,
		.frame_pointer = PILOTLIGHT_UNWIND_FP_UNKNOWN,
		.offset = 16,
	};
	struct walk walk = walk_at(4, 8);

	(void)state;
	stack[5] = stack[7] = 0x402000;
	assert_int_equal(step_by_rule(&walk, &rule), WALK_ON);
	rule.frame_pointer = PILOTLIGHT_UNWIND_FP_SAME;
	assert_int_equal(step_by_rule(&walk, &rule), WALK_ON);
	rule.base = DWARF_RBP;
	assert_int_equal(step_by_rule(&walk, &rule), PILOTLIGHT_WALK_UNSUPPORTED);
	assert_int_equal(step_by_frame_pointer(&walk, 0), PILOTLIGHT_WALK_UNSUPPORTED);
}

static void frame_pointers_lead_to_the_first_one(void **state)
{
	struct walk walk = walk_at(4, 8);

	(void)state;
	stack[8] = at(20);
	stack[9] = 0x402000;
	stack[20] = 0;
	stack[21] = 0x403000;
	assert_int_equal(step_by_frame_pointer(&walk, 0), WALK_ON);
	assert_int_equal(walk.ip, 0x402000);
	assert_int_equal(walk.sp, at(10));
	assert_int_equal(step_by_frame_pointer(&walk, 0), WALK_ON);
	assert_int_equal(walk.ip, 0x403000);
	assert_int_equal(step_by_frame_pointer(&walk, 0), PILOTLIGHT_WALK_ROOT);

	/* To another stack, only where that is usual. */
	walk = walk_at(30, 8);
	stack[9] = 0x402000;
	assert_int_equal(step_by_frame_pointer(&walk, 0), PILOTLIGHT_WALK_LOOPED);
	assert_int_equal(step_by_frame_pointer(&walk, 1), WALK_ON);
	walk.fp = 8;
	assert_int_equal(step_by_frame_pointer(&walk, 1), PILOTLIGHT_WALK_UNREADABLE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rules_from_the_stack_pointer_find_the_caller),
		cmocka_unit_test(a_frame_pointer_right_below_the_return_address_is_read_with_it),
		cmocka_unit_test(a_realigned_stack_keeps_its_frame_address_in_memory),
		cmocka_unit_test(stubs_have_pushed_a_word_in_their_second_part),
		cmocka_unit_test(other_registers_are_known_of_the_leaf_alone),
		cmocka_unit_test(a_signal_frame_gives_all_registers_back),
		cmocka_unit_test(walks_end_for_a_reason),
		cmocka_unit_test(a_lost_frame_pointer_ends_only_what_needs_it),
		cmocka_unit_test(frame_pointers_lead_to_the_first_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
