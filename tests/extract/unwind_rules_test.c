/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/unwind_rules.h"
#include "tests/dwarf/cfi_fixture.h"

#include "base/array.h"
#include "tests/harness/failing_allocation.h"

#include <elf.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static uint16_t machine;
static struct cfi_cie cie;
static struct cfi_state row;

/* The rows of nearly all functions. */
static int set_up(void **state)
{
	machine = EM_X86_64;
	cie = (struct cfi_cie){ .return_column = RIP };
	row = (struct cfi_state){
		.cfa_register = RSP,
		.cfa = { .kind = CFI_OFFSET, .offset = 16 },
		.columns[CFI_RETURN_ADDRESS] = { .kind = CFI_OFFSET, .offset = -8 },
	};
	return 0;
}

static int set_up_aarch64(void **state)
{
	(void)set_up(state);
	machine = EM_AARCH64;
	cie.return_column = X30;
	row.cfa_register = SP;
	row.columns[CFI_RETURN_ADDRESS].kind = CFI_UNSPECIFIED;
	return 0;
}

static void assert_rule(struct pilotlight_unwind_rule expected)
{
	struct pilotlight_unwind_rule rule = unwind_rule_of(machine, &cie, &row);

	assert_int_equal(rule.kind, expected.kind);
	assert_int_equal(rule.base, expected.base);
	assert_int_equal(rule.frame_pointer, expected.frame_pointer);
	assert_int_equal(rule.addend, expected.addend);
	assert_int_equal(rule.offset, expected.offset);
	assert_int_equal(rule.frame_pointer_offset, expected.frame_pointer_offset);
	assert_int_equal(rule.return_address_offset, expected.return_address_offset);
}

#define ASSERT_RULE(...) assert_rule((struct pilotlight_unwind_rule){ __VA_ARGS__ })

static void set_expression(
	struct cfi_rule *rule, enum cfi_rule_kind kind, const void *bytes, size_t size)
{
	*rule = (struct cfi_rule){ .kind = kind, .expression = { bytes, size } };
}

static void frames_are_relative_to_a_register(void **state)
{
	ASSERT_RULE(.kind = PILOTLIGHT_UNWIND_CFA, .base = RSP, .offset = 16);
	row.cfa_register = 10;
	row.cfa.offset = -1;
	ASSERT_RULE(.kind = PILOTLIGHT_UNWIND_CFA, .base = 10, .offset = -1);
	row.cfa.offset = INT32_MAX;
	ASSERT_RULE(.kind = PILOTLIGHT_UNWIND_CFA, .base = 10, .offset = INT32_MAX);
	row.cfa.offset++;
	ASSERT_RULE(.kind = PILOTLIGHT_UNWIND_UNSUPPORTED);
	row.cfa.offset = 0;
	row.cfa_register = 17;
	ASSERT_RULE(.kind = PILOTLIGHT_UNWIND_UNSUPPORTED);
	row.cfa_register = UINT64_MAX;
	ASSERT_RULE(.kind = PILOTLIGHT_UNWIND_UNSUPPORTED);
	row.cfa = (struct cfi_rule){ .kind = CFI_UNSPECIFIED };
	row.cfa_register = RSP;
	ASSERT_RULE(.kind = PILOTLIGHT_UNWIND_UNSUPPORTED);
}

static void frames_are_found_by_expressions(void **state)
{
	set_expression(&row.cfa, CFI_VALUE_EXPRESSION, "\x76\x78\x06", 3);
	set_expression(&row.columns[CFI_FRAME_POINTER], CFI_EXPRESSION, "\x76\0", 2);
	ASSERT_RULE(.kind = PILOTLIGHT_UNWIND_CFA_AT, .base = RBP, .offset = -8,
		.frame_pointer = PILOTLIGHT_UNWIND_FP_AT_FP);
	set_expression(&row.cfa, CFI_VALUE_EXPRESSION, "\x77\x08\x06\x23\x7f", 5);
	ASSERT_RULE(.kind = PILOTLIGHT_UNWIND_CFA_AT, .base = RSP, .offset = 8, .addend = 127,
		.frame_pointer = PILOTLIGHT_UNWIND_FP_AT_FP);
	set_expression(&row.cfa, CFI_VALUE_EXPRESSION, "\x77\x08\x06\x23\x80\1", 6);
	ASSERT_RULE(.kind = PILOTLIGHT_UNWIND_UNSUPPORTED);
	set_expression(
		&row.cfa, CFI_VALUE_EXPRESSION, "\x77\x08\x80\0\x3f\x1a\x3b\x2a\x33\x24\x22", 11);
	row.columns[CFI_FRAME_POINTER].kind = CFI_SAME;
	ASSERT_RULE(.kind = PILOTLIGHT_UNWIND_PLT, .offset = 11);
	set_expression(&row.cfa, CFI_VALUE_EXPRESSION, "\x30", 1);
	ASSERT_RULE(.kind = PILOTLIGHT_UNWIND_UNSUPPORTED);
}

static void frame_pointers_are_saved_somewhere(void **state)
{
	struct cfi_rule *pointer = &row.columns[CFI_FRAME_POINTER];

	pointer->kind = CFI_SAME;
	ASSERT_RULE(.kind = PILOTLIGHT_UNWIND_CFA, .base = RSP, .offset = 16);
	*pointer = (struct cfi_rule){ .kind = CFI_OFFSET, .offset = -16 };
	ASSERT_RULE(.kind = PILOTLIGHT_UNWIND_CFA, .base = RSP, .offset = 16,
		.frame_pointer = PILOTLIGHT_UNWIND_FP_AT_CFA, .frame_pointer_offset = -16);
	set_expression(pointer, CFI_EXPRESSION, "\x76\x70", 2);
	ASSERT_RULE(.kind = PILOTLIGHT_UNWIND_CFA, .base = RSP, .offset = 16,
		.frame_pointer = PILOTLIGHT_UNWIND_FP_AT_FP, .frame_pointer_offset = -16);
}

static void assert_rbx_offset(int32_t expected)
{
	const struct pilotlight_unwind_rule rule = unwind_rule_of(machine, &cie, &row);

	assert_int_equal(rule.kind, PILOTLIGHT_UNWIND_CFA);
	assert_int_equal(rule.rbx_offset, expected);
}

static void rbx_is_saved_relative_to_the_frame(void **state)
{
	static const enum cfi_rule_kind others[] = { CFI_UNDEFINED, CFI_VALUE_OFFSET, CFI_REGISTER,
		CFI_EXPRESSION };
	struct cfi_rule *rbx = &row.columns[CFI_RBX];

	assert_rbx_offset(0);
	rbx->kind = CFI_SAME;
	assert_rbx_offset(0);
	*rbx = (struct cfi_rule){ .kind = CFI_OFFSET, .offset = -40 };
	assert_rbx_offset(-40);
	rbx->offset = 0;
	assert_rbx_offset(PILOTLIGHT_UNWIND_RBX_UNKNOWN);
	rbx->offset = INT64_MIN;
	assert_rbx_offset(PILOTLIGHT_UNWIND_RBX_UNKNOWN);
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		*rbx = (struct cfi_rule){ .kind = others[i] };
		assert_rbx_offset(PILOTLIGHT_UNWIND_RBX_UNKNOWN);
	}
}

static void a_base_of_rbx_is_found_among_the_rules(void **state)
{
	struct pilotlight_unwind_rule rule = { .kind = PILOTLIGHT_UNWIND_CFA, .base = RBP };
	struct unwind_rules rules = { 0 };
	uint32_t id;

	assert_false(unwind_rules_need_rbx(EM_X86_64, &rules));
	assert_int_equal(unwind_rules_intern(&rules, &rule, &id), 0);
	rule = (struct pilotlight_unwind_rule){ .kind = PILOTLIGHT_UNWIND_STOP, .base = RBX };
	assert_int_equal(unwind_rules_intern(&rules, &rule, &id), 0);
	assert_false(unwind_rules_need_rbx(EM_X86_64, &rules));
	rule.kind = PILOTLIGHT_UNWIND_CFA_AT;
	assert_int_equal(unwind_rules_intern(&rules, &rule, &id), 0);
	assert_true(unwind_rules_need_rbx(EM_X86_64, &rules));
	assert_false(unwind_rules_need_rbx(EM_AARCH64, &rules));
	unwind_rules_done(&rules);
}

static void assert_pointer_unknown(void)
{
	ASSERT_RULE(.kind = PILOTLIGHT_UNWIND_CFA, .base = RSP, .offset = 16,
		.frame_pointer = PILOTLIGHT_UNWIND_FP_UNKNOWN);
}

static void other_frame_pointers_are_unknown(void **state)
{
	static const enum cfi_rule_kind kinds[] = { CFI_UNDEFINED, CFI_VALUE_OFFSET, CFI_REGISTER };
	struct cfi_rule *pointer = &row.columns[CFI_FRAME_POINTER];

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		*pointer = (struct cfi_rule){ .kind = kinds[i] };
		assert_pointer_unknown();
	}
	*pointer = (struct cfi_rule){ .kind = CFI_OFFSET, .offset = INT64_MIN };
	assert_pointer_unknown();
	set_expression(pointer, CFI_EXPRESSION, "\x77\x70", 2);
	assert_pointer_unknown();
	set_expression(pointer, CFI_EXPRESSION, "\x76\x70\x06", 3);
	assert_pointer_unknown();
	set_expression(pointer, CFI_VALUE_EXPRESSION, "\x76\x70", 2);
	assert_pointer_unknown();
}

static void return_addresses_are_where_calls_put_them(void **state)
{
	struct cfi_rule *address = &row.columns[CFI_RETURN_ADDRESS];

	address->offset = -16;
	ASSERT_RULE(.kind = PILOTLIGHT_UNWIND_UNSUPPORTED);
	for (enum cfi_rule_kind kind = CFI_UNSPECIFIED; kind <= CFI_VALUE_EXPRESSION; kind++) {
		*address = (struct cfi_rule){ .kind = kind };
		if (kind == CFI_UNDEFINED)
			ASSERT_RULE(.kind = PILOTLIGHT_UNWIND_ROOT);
		else
			ASSERT_RULE(.kind = PILOTLIGHT_UNWIND_UNSUPPORTED);
	}
	*address = (struct cfi_rule){ .kind = CFI_OFFSET, .offset = -8 };
	cie.return_column = 15;
	ASSERT_RULE(.kind = PILOTLIGHT_UNWIND_UNSUPPORTED);
}

static void callers_have_the_cfa_for_a_stack_pointer(void **state)
{
	struct cfi_rule *stack = &row.columns[CFI_STACK_POINTER];

	*stack = (struct cfi_rule){ .kind = CFI_VALUE_OFFSET };
	ASSERT_RULE(.kind = PILOTLIGHT_UNWIND_CFA, .base = RSP, .offset = 16);
	stack->offset = 8;
	ASSERT_RULE(.kind = PILOTLIGHT_UNWIND_UNSUPPORTED);
	*stack = (struct cfi_rule){ .kind = CFI_REGISTER, .register_number = 8 };
	ASSERT_RULE(.kind = PILOTLIGHT_UNWIND_UNSUPPORTED);
}

static void signal_frames_are_the_kernels(void **state)
{
	cie.is_signal = true;
	set_expression(&row.cfa, CFI_VALUE_EXPRESSION, "\x77\xa0\1\x06", 4);
	ASSERT_RULE(.kind = PILOTLIGHT_UNWIND_SIGNAL);
	/* Something else has been marked so. */
	set_expression(&row.cfa, CFI_VALUE_EXPRESSION, "\x77\xa8\1\x06", 4);
	ASSERT_RULE(.kind = PILOTLIGHT_UNWIND_UNSUPPORTED);
	row.cfa = (struct cfi_rule){ .kind = CFI_OFFSET, .offset = 16 };
	ASSERT_RULE(.kind = PILOTLIGHT_UNWIND_UNSUPPORTED);
}

static void aarch64_has_a_link_register(void **state)
{
	struct cfi_rule *address = &row.columns[CFI_RETURN_ADDRESS];

	ASSERT_RULE(.kind = PILOTLIGHT_UNWIND_CFA, .base = SP, .offset = 16);
	*address = (struct cfi_rule){ .kind = CFI_REGISTER, .register_number = X30 };
	ASSERT_RULE(.kind = PILOTLIGHT_UNWIND_CFA, .base = SP, .offset = 16);
	address->register_number = 15;
	ASSERT_RULE(.kind = PILOTLIGHT_UNWIND_UNSUPPORTED);
	*address = (struct cfi_rule){ .kind = CFI_OFFSET, .offset = -40 };
	row.columns[CFI_FRAME_POINTER] = (struct cfi_rule){ .kind = CFI_OFFSET, .offset = -48 };
	ASSERT_RULE(.kind = PILOTLIGHT_UNWIND_CFA, .base = SP, .offset = 16,
		.frame_pointer = PILOTLIGHT_UNWIND_FP_AT_CFA, .frame_pointer_offset = -48,
		.return_address_offset = -40);
	/* 0 would say something else. */
	address->offset = 0;
	ASSERT_RULE(.kind = PILOTLIGHT_UNWIND_UNSUPPORTED);
	address->offset = INT64_MAX;
	ASSERT_RULE(.kind = PILOTLIGHT_UNWIND_UNSUPPORTED);
	address->kind = CFI_UNDEFINED;
	ASSERT_RULE(.kind = PILOTLIGHT_UNWIND_ROOT);
	address->kind = CFI_UNSPECIFIED;
	set_expression(
		&row.cfa, CFI_VALUE_EXPRESSION, "\x77\x08\x80\0\x3f\x1a\x3b\x2a\x33\x24\x22", 11);
	ASSERT_RULE(.kind = PILOTLIGHT_UNWIND_UNSUPPORTED);
	/* The kernel's begins where the frame pointer points. */
	cie.is_signal = true;
	ASSERT_RULE(.kind = PILOTLIGHT_UNWIND_UNSUPPORTED);
	row.cfa = (struct cfi_rule){ .kind = CFI_OFFSET };
	ASSERT_RULE(.kind = PILOTLIGHT_UNWIND_UNSUPPORTED);
	row.cfa_register = X29;
	ASSERT_RULE(.kind = PILOTLIGHT_UNWIND_SIGNAL);
}

static enum unwind_frame frame_of(struct pilotlight_unwind_rule rule)
{
	return unwind_rule_frame(machine, &rule);
}

#define FRAME_OF(...) frame_of((struct pilotlight_unwind_rule){ __VA_ARGS__ })

static void frames_tell_of_frame_pointers(void **state)
{
	assert_int_equal(FRAME_OF(.kind = PILOTLIGHT_UNWIND_CFA, .base = RSP, .offset = 8),
		UNWIND_FRAME_NONE);
	assert_int_equal(FRAME_OF(.kind = PILOTLIGHT_UNWIND_CFA, .base = RSP, .offset = 16),
		UNWIND_FRAME_WITHOUT_POINTER);
	assert_int_equal(FRAME_OF(.kind = PILOTLIGHT_UNWIND_CFA, .base = RBP, .offset = 16),
		UNWIND_FRAME_WITHOUT_POINTER);
	assert_int_equal(FRAME_OF(.kind = PILOTLIGHT_UNWIND_CFA_AT, .base = RBP, .offset = -8,
				 .frame_pointer = PILOTLIGHT_UNWIND_FP_AT_FP),
		UNWIND_FRAME_WITH_POINTER);
	assert_int_equal(
		FRAME_OF(.kind = PILOTLIGHT_UNWIND_UNSUPPORTED), UNWIND_FRAME_WITHOUT_POINTER);
	assert_int_equal(FRAME_OF(.kind = PILOTLIGHT_UNWIND_ROOT), UNWIND_FRAME_NONE);
	assert_int_equal(FRAME_OF(.kind = PILOTLIGHT_UNWIND_PLT), UNWIND_FRAME_NONE);
	assert_int_equal(
		frame_of(unwind_rule_by_frame_pointer(machine)), UNWIND_FRAME_WITH_POINTER);

	machine = EM_AARCH64;
	assert_int_equal(
		frame_of(unwind_rule_by_frame_pointer(machine)), UNWIND_FRAME_WITH_POINTER);
	assert_int_equal(FRAME_OF(.kind = PILOTLIGHT_UNWIND_CFA, .base = SP, .offset = 64),
		UNWIND_FRAME_NONE);
	assert_int_equal(FRAME_OF(.kind = PILOTLIGHT_UNWIND_CFA, .base = SP, .offset = 64,
				 .return_address_offset = -64),
		UNWIND_FRAME_WITHOUT_POINTER);
	assert_int_equal(FRAME_OF(.kind = PILOTLIGHT_UNWIND_CFA, .base = SP, .offset = 64,
				 .frame_pointer = PILOTLIGHT_UNWIND_FP_AT_CFA,
				 .frame_pointer_offset = -64, .return_address_offset = -56),
		UNWIND_FRAME_WITH_POINTER);
}

static void other_machines_have_no_tables(void **state)
{
	assert_ptr_equal(unwind_rule_registers(EM_X86_64), &cfi_registers_x86_64);
	assert_ptr_equal(unwind_rule_registers(EM_AARCH64), &cfi_registers_aarch64);
	assert_null(unwind_rule_registers(EM_386));
	assert_null(unwind_rule_registers(EM_RISCV));
}

static void each_rule_is_kept_once(void **state)
{
	struct unwind_rules rules = { 0 };
	uint32_t id;

	for (int pass = 0; pass < 2; pass++)
		for (int32_t i = 0; i < PILOTLIGHT_UNWIND_RULES_MAX; i++) {
			const struct pilotlight_unwind_rule rule = { .offset = i };

			assert_int_equal(unwind_rules_intern(&rules, &rule, &id), 0);
			assert_int_equal(id, i);
		}
	assert_int_equal(rules.count, PILOTLIGHT_UNWIND_RULES_MAX);
	id = 77;
	assert_int_equal(
		unwind_rules_intern(&rules, &(struct pilotlight_unwind_rule){ .offset = -1 }, &id),
		-EFBIG);
	assert_int_equal(id, 77);
	unwind_rules_done(&rules);
	assert_int_equal(rules.count, 0);
}

static void a_failed_allocation_is_an_error(void **state)
{
	for (size_t n = 0;; n++) {
		struct unwind_rules rules = { 0 };
		uint32_t id;
		int r = 0;

		fail_allocation(n);
		for (int32_t i = 0; r == 0 && i < 100; i++)
			r = unwind_rules_intern(
				&rules, &(struct pilotlight_unwind_rule){ .offset = i }, &id);
		if (!allocation_failed()) {
			assert_int_equal(r, 0);
			unwind_rules_done(&rules);
			break;
		}
		assert_int_equal(r, -ENOMEM);
		unwind_rules_done(&rules);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(frames_are_relative_to_a_register, set_up),
		cmocka_unit_test_setup(frames_are_found_by_expressions, set_up),
		cmocka_unit_test_setup(frame_pointers_are_saved_somewhere, set_up),
		cmocka_unit_test_setup(rbx_is_saved_relative_to_the_frame, set_up),
		cmocka_unit_test(a_base_of_rbx_is_found_among_the_rules),
		cmocka_unit_test_setup(other_frame_pointers_are_unknown, set_up),
		cmocka_unit_test_setup(return_addresses_are_where_calls_put_them, set_up),
		cmocka_unit_test_setup(callers_have_the_cfa_for_a_stack_pointer, set_up),
		cmocka_unit_test_setup(signal_frames_are_the_kernels, set_up),
		cmocka_unit_test_setup(aarch64_has_a_link_register, set_up_aarch64),
		cmocka_unit_test_setup(frames_tell_of_frame_pointers, set_up),
		cmocka_unit_test(other_machines_have_no_tables),
		cmocka_unit_test(each_rule_is_kept_once),
		cmocka_unit_test(a_failed_allocation_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
