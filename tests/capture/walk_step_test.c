/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Steps of the sampler's walk by rules, compiled for the host, on a made-up stack. */
#include "tests/capture/walk_step_fixture.h"

static void rule_relative_to_the_stack_pointer_finds_the_caller(void **state)
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

	stack[9] = 0x402000; /* return address */
	stack[6] = at(50);   /* saved rbp */
	assert_int_equal(step_by_rule(&walk, &rule, 0), WALK_ON);
	assert_int_equal(walk.ip, 0x402000);
	assert_int_equal(walk.sp, at(10));
	assert_int_equal(fp_of(&walk), at(50));
	assert_int_equal(walk.is_exact, 0);
	assert_int_equal(walk.registers_kind, REGISTERS_NONE);
}

static void frame_pointer_below_the_return_address_is_read_with_it(void **state)
{
	const struct pilotlight_unwind_rule rule = {
		.kind = PILOTLIGHT_UNWIND_CFA,
		.base = DWARF_RBP,
		.frame_pointer = PILOTLIGHT_UNWIND_FP_AT_CFA,
		.offset = 16,
		.frame_pointer_offset = -16,
	};
	struct walk walk = walk_at(4, 8);

	stack[8] = 1; /* no address, and no reason to stop */
	stack[9] = 0x402000;
	assert_int_equal(step_by_rule(&walk, &rule, 0), WALK_ON);
	assert_int_equal(fp_of(&walk), 1);
	assert_int_equal(walk.ip, 0x402000);
	assert_int_equal(walk.sp, at(10));
}

static void realigned_stack_has_its_cfa_in_memory(void **state)
{
	const struct pilotlight_unwind_rule rule = {
		.kind = PILOTLIGHT_UNWIND_CFA_AT,
		.base = DWARF_RBP,
		.frame_pointer = PILOTLIGHT_UNWIND_FP_AT_FP,
		.addend = 8,
		.offset = -8,
	};
	struct walk walk = walk_at(4, 20);

	stack[19] = at(29); /* the CFA less 8 */
	stack[20] = at(60); /* saved rbp */
	stack[29] = 0x403000;
	assert_int_equal(step_by_rule(&walk, &rule, 0), WALK_ON);
	assert_int_equal(walk.ip, 0x403000);
	assert_int_equal(walk.sp, at(30));
	assert_int_equal(fp_of(&walk), at(60));
}

static void plt_stubs_push_a_word_in_their_second_part(void **state)
{
	const struct pilotlight_unwind_rule rule = { .kind = PILOTLIGHT_UNWIND_PLT, .offset = 11 };

	for (unsigned byte = 0; byte < 16; byte++) {
		struct walk walk = walk_at(4, 8);

		walk.ip = 0x401020 + byte;
		stack[4] = 0x402000;
		stack[5] = 0x403000;
		assert_int_equal(step_by_rule(&walk, &rule, 0), WALK_ON);
		assert_int_equal(walk.ip, byte >= 11 ? 0x403000 : 0x402000);
		assert_int_equal(walk.sp, byte >= 11 ? at(6) : at(5));
		assert_int_equal(fp_of(&walk), at(8));
	}
}

static void other_registers_are_known_in_the_leaf_only(void **state)
{
	/* DWARF's number, and the place in struct pt_regs. */
	static const struct {
		__u8 number, place;
	} registers[] = { { 1, 12 }, { 10, 7 }, { 15, 0 }, { 0, 10 } };
	struct pilotlight_unwind_rule rule = { .kind = PILOTLIGHT_UNWIND_CFA };

	for (size_t i = 0; i < sizeof(registers) / sizeof(registers[0]); i++) {
		struct walk walk = walk_at(4, 8);

		rule.base = registers[i].number;
		memset(pt_regs, 0, sizeof(pt_regs));
		pt_regs[registers[i].place] = at(12);
		stack[11] = 0x402000;
		assert_int_equal(step_by_rule(&walk, &rule, 0), WALK_ON);
		assert_int_equal(walk.ip, 0x402000);
		assert_int_equal(step_by_rule(&walk, &rule, 0), PILOTLIGHT_WALK_UNSUPPORTED);
	}
	for (unsigned number = DWARF_REGISTERS; number < 256; number++) {
		struct walk walk = walk_at(4, 8);

		rule.base = (__u8)number;
		assert_int_equal(step_by_rule(&walk, &rule, 0), PILOTLIGHT_WALK_UNSUPPORTED);
	}
}

static void rbx_is_read_where_a_callee_saved_it(void **state)
{
	const struct pilotlight_unwind_rule saves = {
		.kind = PILOTLIGHT_UNWIND_CFA, .base = DWARF_RSP, .offset = 24, .rbx_offset = -16
	};
	const struct pilotlight_unwind_rule keeps = {
		.kind = PILOTLIGHT_UNWIND_CFA, .base = DWARF_RSP, .offset = 8
	};
	const struct pilotlight_unwind_rule by_rbx = { .kind = PILOTLIGHT_UNWIND_CFA,
		.base = DWARF_RBX,
		.offset = 16,
		.rbx_offset = PILOTLIGHT_UNWIND_RBX_UNKNOWN };
	struct walk walk = walk_at(4, 8);

	stack[5] = at(20); /* rbx */
	stack[6] = stack[7] = 0x402000;
	stack[21] = 0x403000;
	stack[25] = at(40);
	assert_int_equal(step_by_rule(&walk, &saves, 1), WALK_ON);
	assert_int_equal(step_by_rule(&walk, &keeps, 1), WALK_ON);
	assert_int_equal(walk.sp, at(8));
	assert_int_equal(step_by_rule(&walk, &by_rbx, 1), WALK_ON);
	assert_int_equal(walk.ip, 0x403000);
	assert_int_equal(walk.sp, at(22));
	assert_int_equal(step_by_rule(&walk, &by_rbx, 1), PILOTLIGHT_WALK_UNSUPPORTED);
}

static void rbx_is_known_in_a_leaf_and_after_a_signal(void **state)
{
	const struct pilotlight_unwind_rule by_rbx = {
		.kind = PILOTLIGHT_UNWIND_CFA, .base = DWARF_RBX, .offset = 16
	};
	const struct pilotlight_unwind_rule signal = { .kind = PILOTLIGHT_UNWIND_SIGNAL };
	struct walk walk = walk_at(4, 8);

	walk.rbx.word = at(10);
	walk.rbx.kind = SAVED_VALUE;
	stack[11] = 0x402000;
	assert_int_equal(step_by_rule(&walk, &by_rbx, 1), WALK_ON);
	assert_int_equal(walk.ip, 0x402000);

	walk = walk_at(4, 8);
	stack[4 + UCONTEXT_GREGS_BYTES / 8 + GREGS_RBX] = at(50);
	stack[51] = 0x406000;
	assert_int_equal(step_by_rule(&walk, &signal, 0), WALK_ON);
	assert_int_equal(step_by_rule(&walk, &by_rbx, 1), WALK_ON);
	assert_int_equal(walk.ip, 0x406000);
}

static void rbx_is_lost_in_code_without_rules_for_it(void **state)
{
	const struct pilotlight_unwind_rule silent = {
		.kind = PILOTLIGHT_UNWIND_CFA, .base = DWARF_RSP, .offset = 8
	};
	const struct pilotlight_unwind_rule by_rbx = {
		.kind = PILOTLIGHT_UNWIND_CFA, .base = DWARF_RBX, .offset = 16
	};
	struct walk walk = walk_at(4, 8);

	walk.rbx.word = at(10);
	walk.rbx.kind = SAVED_VALUE;
	stack[4] = stack[11] = 0x402000;
	assert_int_equal(step_by_rule(&walk, &silent, 0), WALK_ON);
	assert_int_equal(step_by_rule(&walk, &by_rbx, 1), PILOTLIGHT_WALK_UNSUPPORTED);

	walk = walk_at(4, 8);
	walk.rbx.word = at(12);
	walk.rbx.kind = SAVED_VALUE;
	stack[9] = 0x402000;
	stack[13] = 0x402000;
	assert_int_equal(step_by_frame_pointer(&walk, FRAME_POINTERS_GUESSED), WALK_ON);
	assert_int_equal(step_by_rule(&walk, &by_rbx, 1), PILOTLIGHT_WALK_UNSUPPORTED);

	/* Saved in unreadable memory. */
	walk = walk_at(4, 8);
	walk.rbx.word = STACK_START - 8;
	walk.rbx.kind = SAVED_AT_ADDRESS;
	assert_int_equal(step_by_rule(&walk, &by_rbx, 1), PILOTLIGHT_WALK_UNSUPPORTED);
}

static void signal_frame_restores_all_registers(void **state)
{
	const struct pilotlight_unwind_rule rule = { .kind = PILOTLIGHT_UNWIND_SIGNAL };
	const struct pilotlight_unwind_rule by_r10 = {
		.kind = PILOTLIGHT_UNWIND_CFA, .base = 10, .offset = 8
	};
	struct walk walk = walk_at(4, 8);
	__u64 *gregs = stack + 4 + UCONTEXT_GREGS_BYTES / 8;

	gregs[GREGS_RIP] = 0x405000;
	gregs[GREGS_RSP] = at(40); /* on another stack it may be lower */
	gregs[GREGS_RBP] = at(44);
	gregs[2] = at(50); /* r10 */
	walk.fp.kind = SAVED_UNKNOWN;
	assert_int_equal(step_by_rule(&walk, &rule, 0), WALK_ON);
	assert_int_equal(walk.ip, 0x405000);
	assert_int_equal(walk.sp, at(40));
	assert_int_equal(fp_of(&walk), at(44));
	assert_int_equal(walk.is_exact, 1);
	assert_int_not_equal(walk.fp.kind, SAVED_UNKNOWN);
	stack[50] = 0x406000;
	assert_int_equal(step_by_rule(&walk, &by_r10, 0), WALK_ON);
	assert_int_equal(walk.ip, 0x406000);

	walk = walk_at(STACK_WORDS - 2, 8);
	assert_int_equal(step_by_rule(&walk, &rule, 0), PILOTLIGHT_WALK_UNREADABLE);
}

/* Go's runtime has stacks of its own. */
static void a_caller_may_be_on_a_lower_stack(void **state)
{
	const struct pilotlight_unwind_rule rule = { .kind = PILOTLIGHT_UNWIND_SWITCHED,
		.base = DWARF_RBP,
		.frame_pointer = PILOTLIGHT_UNWIND_FP_AT_CFA,
		.offset = 16,
		.frame_pointer_offset = -16 };
	struct walk walk = walk_at(40, 8);

	stack[8] = at(20);
	stack[9] = 0x402000;
	assert_int_equal(step_by_rule(&walk, &rule, 0), WALK_ON);
	assert_int_equal(walk.ip, 0x402000);
	assert_int_equal(walk.sp, at(10));
	assert_int_equal(fp_of(&walk), at(20));
	walk.fp.word = 0;
	walk.fp.kind = SAVED_VALUE;
	assert_int_equal(step_by_rule(&walk, &rule, 0), PILOTLIGHT_WALK_ROOT);
}

/* pop %r12: the return address is right below the stack pointer. */
static void interrupted_code_may_have_popped_its_return_address(void **state)
{
	const struct pilotlight_unwind_rule rule = {
		.kind = PILOTLIGHT_UNWIND_CFA, .base = DWARF_RSP, .offset = 0
	};
	struct walk walk = walk_at(4, 8);

	stack[3] = 0x402000;
	assert_int_equal(step_by_rule(&walk, &rule, 0), WALK_ON);
	assert_int_equal(walk.ip, 0x402000);
	assert_int_equal(walk.sp, at(4));
	/* A caller has the return address of its callee there. */
	assert_int_equal(step_by_rule(&walk, &rule, 0), PILOTLIGHT_WALK_LOOPED);
}

/* It may be wrong, so the caller must be behind a call. */
static void inferred_rule_needs_a_call(void **state)
{
	const struct pilotlight_unwind_rule by_sp = {
		.kind = PILOTLIGHT_UNWIND_INFERRED, .base = DWARF_RSP, .offset = 16
	};
	const struct pilotlight_unwind_rule by_fp = { .kind = PILOTLIGHT_UNWIND_INFERRED,
		.base = DWARF_RBP,
		.frame_pointer = PILOTLIGHT_UNWIND_FP_AT_CFA,
		.offset = 16,
		.frame_pointer_offset = -16 };
	struct walk walk = walk_at(4, 8);

	stack[5] = 0x402000;
	assert_int_equal(step_by_rule(&walk, &by_sp, 0), WALK_ON);
	assert_int_equal(walk.ip, 0x402000);
	assert_int_equal(walk.sp, at(6));
	stack[8] = at(20);
	stack[9] = 0x403000;
	assert_int_equal(step_by_rule(&walk, &by_fp, 0), WALK_ON);
	assert_int_equal(walk.ip, 0x403000);
	assert_int_equal(fp_of(&walk), at(20));

	/* No code is there; or it is no root, either. */
	walk = walk_at(4, 8);
	stack[5] = at(30);
	assert_int_equal(step_by_rule(&walk, &by_sp, 0), PILOTLIGHT_WALK_NO_FUNCTION);
	stack[5] = 0;
	assert_int_equal(step_by_rule(&walk, &by_sp, 0), PILOTLIGHT_WALK_NO_FUNCTION);
	walk.fp.word = 0;
	assert_int_equal(step_by_rule(&walk, &by_fp, 0), PILOTLIGHT_WALK_NO_FUNCTION);
}

/* V8 has made a frame that an interpreted function goes on in, and lets the callee return to the
 * start of the code for that. */
static void callee_of_a_made_frame_returns_to_a_function(void **state)
{
	const struct pilotlight_unwind_rule by_fp = { .kind = PILOTLIGHT_UNWIND_INFERRED,
		.base = DWARF_RBP,
		.frame_pointer = PILOTLIGHT_UNWIND_FP_AT_CFA,
		.offset = 16,
		.frame_pointer_offset = -16 };
	static const struct {
		__u64 before, code;
		int is_made;
	} callers[] = {
		{ CODE_INT3S, 0x8b44dc4de0658b4cULL, 1 }, /* mov -0x20(%rbp), %r12 */
		{ CODE_INT3S, 0x8b44dc4df05d8b48ULL, 1 }, /* mov -0x10(%rbp), %rbx */
		{ CODE_INT3S, 0x8b44dc4d20658b4cULL, 0 }, /* mov 0x20(%rbp), %r12 */
		{ CODE_INT3S, 0x8b44dc4de0608b4cULL, 0 }, /* mov -0x20(%rax), %r12 */
		{ CODE_INT3S, 0x8b44dc4de065894cULL, 0 }, /* mov %r12, -0x20(%rbp) */
		{ CODE_INT3S, 0x8b44dc4de0658b44ULL, 0 }, /* of 4 bytes */
		{ CODE_INT3S, 0x8b44dc4de0658b49ULL, 0 }, /* mov -0x20(%r13), %rsp */
		{ CODE_INT3S >> 8, 0x8b44dc4de0658b4cULL, 0 },
		{ 0x9090909090909090ULL, 0x8b44dc4de0658b4cULL, 0 },
	};

	for (size_t i = 0; i < sizeof(callers) / sizeof(callers[0]); i++) {
		const int is_made = callers[i].is_made;
		struct walk walk = walk_at(4, 8);

		stack[8] = at(20);
		stack[9] = at(40);
		stack[39] = callers[i].before;
		stack[40] = callers[i].code;
		assert_int_equal(step_by_frame_pointer(&walk, FRAME_POINTERS_USUAL), WALK_ON);
		assert_int_equal(walk.doubt, is_made ? WALK_IN_MADE_FRAME : WALK_IS_DOUBTFUL);
		assert_int_equal(walk.read_more, is_made);
		walk = (struct walk){ .sp = at(4), .fp = { at(8), SAVED_VALUE, 0 } };
		assert_int_equal(step_by_rule(&walk, &by_fp, 0),
			is_made ? WALK_ON : PILOTLIGHT_WALK_NO_FUNCTION);
		assert_int_equal(walk.doubt, is_made ? WALK_IN_MADE_FRAME : WALK_IS_SURE);
		assert_int_equal(walk.read_more, is_made);
	}
}

static void each_end_has_its_reason(void **state)
{
	struct pilotlight_unwind_rule rule = {
		.kind = PILOTLIGHT_UNWIND_CFA, .base = DWARF_RSP, .offset = 16
	};
	struct walk walk = walk_at(4, 8);

	assert_int_equal(step_by_rule(&walk, &rule, 0), PILOTLIGHT_WALK_ROOT); /* address 0 */
	rule.offset = -8;
	assert_int_equal(step_by_rule(&walk, &rule, 0), PILOTLIGHT_WALK_LOOPED);
	rule.offset = 1 << 20;
	assert_int_equal(step_by_rule(&walk, &rule, 0), PILOTLIGHT_WALK_UNREADABLE);
	rule.kind = PILOTLIGHT_UNWIND_CFA_AT;
	assert_int_equal(step_by_rule(&walk, &rule, 0), PILOTLIGHT_WALK_UNREADABLE);
	rule.kind = PILOTLIGHT_UNWIND_CFA;
	rule.base = DWARF_RBP;
	walk.fp.word = 0;
	assert_int_equal(step_by_rule(&walk, &rule, 0), PILOTLIGHT_WALK_ROOT);
	rule.kind = PILOTLIGHT_UNWIND_ROOT;
	assert_int_equal(step_by_rule(&walk, &rule, 0), PILOTLIGHT_WALK_ROOT);
	rule.kind = PILOTLIGHT_UNWIND_UNSUPPORTED;
	assert_int_equal(step_by_rule(&walk, &rule, 0), PILOTLIGHT_WALK_UNSUPPORTED);
	rule.kind = PILOTLIGHT_UNWIND_KINDS;
	assert_int_equal(step_by_rule(&walk, &rule, 0), PILOTLIGHT_WALK_UNSUPPORTED);
}

static void saved_frame_pointer_is_known_again(void **state)
{
	const struct pilotlight_unwind_rule loses = { .kind = PILOTLIGHT_UNWIND_CFA,
		.base = DWARF_RSP,
		.frame_pointer = PILOTLIGHT_UNWIND_FP_UNKNOWN,
		.offset = 8 };
	const struct pilotlight_unwind_rule by_own = { .kind = PILOTLIGHT_UNWIND_CFA,
		.base = DWARF_RSP,
		.frame_pointer = PILOTLIGHT_UNWIND_FP_AT_FP,
		.offset = 8 };
	const struct pilotlight_unwind_rule saved = { .kind = PILOTLIGHT_UNWIND_CFA,
		.base = DWARF_RSP,
		.frame_pointer = PILOTLIGHT_UNWIND_FP_AT_CFA,
		.offset = 24,
		.frame_pointer_offset = -24 };
	struct walk walk = walk_at(4, 8);

	stack[4] = stack[5] = stack[8] = 0x402000;
	stack[6] = at(50);
	assert_int_equal(step_by_rule(&walk, &loses, 0), WALK_ON);
	/* It is relative to an unknown value. */
	assert_int_equal(step_by_rule(&walk, &by_own, 0), WALK_ON);
	assert_int_equal(walk.fp.kind, SAVED_UNKNOWN);
	assert_int_equal(step_by_rule(&walk, &saved, 0), WALK_ON);
	assert_int_not_equal(walk.fp.kind, SAVED_UNKNOWN);
	assert_int_equal(fp_of(&walk), at(50));
}

static void lost_frame_pointer_ends_only_steps_that_need_it(void **state)
{
	struct pilotlight_unwind_rule rule = {
		.kind = PILOTLIGHT_UNWIND_CFA,
		.base = DWARF_RSP,
		.frame_pointer = PILOTLIGHT_UNWIND_FP_UNKNOWN,
		.offset = 16,
	};
	struct walk walk = walk_at(4, 8);

	stack[5] = stack[7] = 0x402000;
	assert_int_equal(step_by_rule(&walk, &rule, 0), WALK_ON);
	rule.frame_pointer = PILOTLIGHT_UNWIND_FP_SAME;
	assert_int_equal(step_by_rule(&walk, &rule, 0), WALK_ON);
	rule.base = DWARF_RBP;
	assert_int_equal(step_by_rule(&walk, &rule, 0), PILOTLIGHT_WALK_UNSUPPORTED);
	assert_int_equal(
		step_by_frame_pointer(&walk, FRAME_POINTERS_GUESSED), PILOTLIGHT_WALK_UNSUPPORTED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rule_relative_to_the_stack_pointer_finds_the_caller),
		cmocka_unit_test(frame_pointer_below_the_return_address_is_read_with_it),
		cmocka_unit_test(realigned_stack_has_its_cfa_in_memory),
		cmocka_unit_test(plt_stubs_push_a_word_in_their_second_part),
		cmocka_unit_test(other_registers_are_known_in_the_leaf_only),
		cmocka_unit_test(rbx_is_read_where_a_callee_saved_it),
		cmocka_unit_test(rbx_is_known_in_a_leaf_and_after_a_signal),
		cmocka_unit_test(rbx_is_lost_in_code_without_rules_for_it),
		cmocka_unit_test(signal_frame_restores_all_registers),
		cmocka_unit_test(a_caller_may_be_on_a_lower_stack),
		cmocka_unit_test(interrupted_code_may_have_popped_its_return_address),
		cmocka_unit_test(inferred_rule_needs_a_call),
		cmocka_unit_test(callee_of_a_made_frame_returns_to_a_function),
		cmocka_unit_test(each_end_has_its_reason),
		cmocka_unit_test(saved_frame_pointer_is_known_again),
		cmocka_unit_test(lost_frame_pointer_ends_only_steps_that_need_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
