/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/code_state.h"

#include "base/array.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static struct code_state state_now;

static bool apply(enum code_effect effect, int32_t value)
{
	const struct code_instruction instruction = { .effect = (uint8_t)effect, .value = value };

	return code_state_apply(&state_now, &instruction);
}

static bool apply_return(void)
{
	const struct code_instruction instruction = { .flow = CODE_FLOW_RETURN };

	return code_state_apply(&state_now, &instruction);
}

static int set_up(void **state)
{
	state_now = code_state_of_entry();
	return 0;
}

/* The depth, the frame, and where the caller's rbp is saved. */
static void assert_state(int32_t depth, int32_t frame, int32_t saved, bool is_callers)
{
	assert_int_equal(state_now.depth, depth);
	assert_int_equal(state_now.frame, frame);
	assert_int_equal(state_now.saved, saved);
	assert_int_equal(state_now.is_callers, is_callers);
}

static void frame_is_set_up_and_undone(void **state)
{
	assert_true(apply(CODE_EFFECT_PUSH_RBP, 8));
	assert_state(16, 0, -16, true);
	assert_true(apply(CODE_EFFECT_RBP_FROM_RSP, 0));
	assert_state(16, 16, -16, false);
	assert_true(apply(CODE_EFFECT_POP, -64));
	assert_state(80, 16, -16, false);
	assert_true(apply(CODE_EFFECT_RBP_ADD, -16));
	assert_state(80, 32, -16, false);
	assert_true(apply(CODE_EFFECT_RSP_FROM_RBP, 16));
	assert_state(16, 32, -16, false);
	assert_true(apply(CODE_EFFECT_POP_RBP, 8));
	assert_state(8, 0, 0, true);
	assert_true(apply_return());
}

static void enter_and_leave_are_both(void **state)
{
	assert_true(apply(CODE_EFFECT_ENTER, 32));
	assert_state(48, 16, -16, false);
	assert_true(apply(CODE_EFFECT_RSP_UNKNOWN, 0));
	assert_state(0, 16, -16, false);
	assert_true(apply(CODE_EFFECT_LEAVE, 0));
	assert_state(8, 0, 0, true);
}

static void only_the_saved_value_restores_the_frame_pointer(void **state)
{
	assert_true(apply(CODE_EFFECT_POP, -24));
	assert_true(apply(CODE_EFFECT_RBP_STORE, 16));
	assert_state(32, 0, -16, true);
	assert_true(apply(CODE_EFFECT_RBP_UNKNOWN, 0));
	/* Another value is stored, and does not count. */
	assert_true(apply(CODE_EFFECT_RBP_STORE, 0));
	assert_state(32, 0, -16, false);
	assert_true(apply(CODE_EFFECT_RBP_LOAD, 0));
	assert_state(32, 0, -16, false);
	assert_true(apply(CODE_EFFECT_RBP_LOAD, 16));
	assert_state(32, 0, -16, true);
	/* Below the stack pointer it may be overwritten. */
	assert_true(apply(CODE_EFFECT_POP, 24));
	assert_state(8, 0, 0, true);
}

static void stores_outside_of_the_frame_save_nothing(void **state)
{
	static const int32_t values[] = { -8, 24, 32, INT32_MAX, INT32_MIN };

	assert_true(apply(CODE_EFFECT_POP, -24));
	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		assert_true(apply(CODE_EFFECT_RBP_STORE, values[i]));
		assert_state(32, 0, 0, true);
	}
}

static void impossible_steps_are_refuted(void **state)
{
	assert_false(apply(CODE_EFFECT_POP, 8));
	(void)set_up(state);
	assert_true(apply(CODE_EFFECT_PUSH, 8));
	assert_false(apply_return());
	(void)set_up(state);
	assert_true(apply(CODE_EFFECT_RBP_UNKNOWN, 0));
	assert_false(apply_return());
	(void)set_up(state);
	assert_true(apply(CODE_EFFECT_RSP_UNKNOWN, 0));
	assert_true(apply_return());
	/* The frame pointer is the caller's. */
	(void)set_up(state);
	assert_false(apply(CODE_EFFECT_RSP_FROM_RBP, 0));
	(void)set_up(state);
	assert_false(apply(CODE_EFFECT_LEAVE, 0));
	(void)set_up(state);
	assert_true(apply(CODE_EFFECT_RSP_UNKNOWN, 0));
	assert_false(apply(CODE_EFFECT_RSP_FROM_RBP, 0));
}

static void huge_frames_are_unknown(void **state)
{
	static const int32_t values[] = { INT32_MIN, INT32_MAX, -(1 << 30), 1 << 30 };

	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		(void)set_up(state);
		assert_true(apply(CODE_EFFECT_POP, values[i]));
		assert_state(0, 0, 0, true);
		(void)set_up(state);
		assert_true(apply(CODE_EFFECT_RBP_FROM_RSP, values[i]));
		assert_state(8, 0, 0, false);
		(void)set_up(state);
		assert_true(apply(CODE_EFFECT_RBP_FROM_RSP, 0));
		assert_true(apply(CODE_EFFECT_RBP_ADD, values[i]));
		assert_state(8, 0, 0, false);
	}
	/* Many steps add up. */
	(void)set_up(state);
	for (int i = 0; i < 16; i++)
		assert_true(apply(CODE_EFFECT_POP, -(1 << 27)));
	assert_state(0, 0, 0, true);
}

static void both_registers_may_be_lost(void **state)
{
	assert_true(apply(CODE_EFFECT_PUSH_RBP, 8));
	assert_true(apply(CODE_EFFECT_BOTH_UNKNOWN, 0));
	assert_state(0, 0, -16, false);
	assert_int_equal(code_state_rule(&state_now).kind, PILOTLIGHT_UNWIND_STOP);
}

static void a_root_stays_one_and_does_not_return(void **state)
{
	state_now = code_state_of_root();
	assert_true(apply(CODE_EFFECT_POP, 8));
	assert_false(apply_return());
	assert_true(state_now.is_root);
	assert_int_equal(code_state_rule(&state_now).kind, PILOTLIGHT_UNWIND_ROOT);
}

static void meeting_keeps_what_is_common(void **state)
{
	struct code_state a = { .depth = 32, .frame = 16, .saved = -16 }, b = a;

	b.depth = 48;
	assert_true(code_state_meet(&a, &b));
	assert_int_equal(a.depth, 0);
	assert_int_equal(a.frame, 16);
	assert_int_equal(a.saved, -16);
	/* Nothing is left. */
	b.frame = 24;
	assert_false(code_state_meet(&a, &b));
	/* Nothing was known. */
	assert_true(code_state_meet(&a, &b));

	a = b = code_state_of_entry();
	b.is_callers = false;
	assert_true(code_state_meet(&a, &b));
	assert_false(a.is_callers);
	a = code_state_of_root();
	assert_false(code_state_meet(&a, &b));
	assert_true(code_state_meet(&a, &a));
}

static void states_agree_where_the_frame_pointer_is_saved(void **state)
{
	struct code_state a = { .depth = 16, .saved = -16, .is_callers = true }, b = a;

	b.is_callers = false;
	assert_true(code_state_agree(&a, &b));
	assert_false(code_state_is_same(&a, &b));
	a.saved = b.saved = 0;
	assert_false(code_state_agree(&a, &b));
}

static void rules_follow_from_states(void **state)
{
	struct code_state known = { .depth = 32, .frame = 16, .saved = -16 };
	struct pilotlight_unwind_rule rule = code_state_rule(&known);

	assert_int_equal(rule.kind, PILOTLIGHT_UNWIND_INFERRED);
	assert_int_equal(rule.base, 6);
	assert_int_equal(rule.offset, 16);
	assert_int_equal(rule.frame_pointer, PILOTLIGHT_UNWIND_FP_AT_CFA);
	assert_int_equal(rule.frame_pointer_offset, -16);
	known = (struct code_state){ .depth = 32 };
	rule = code_state_rule(&known);
	assert_int_equal(rule.base, 7);
	assert_int_equal(rule.offset, 32);
	assert_int_equal(rule.frame_pointer, PILOTLIGHT_UNWIND_FP_UNKNOWN);
	known.is_callers = true;
	assert_int_equal(code_state_rule(&known).frame_pointer, PILOTLIGHT_UNWIND_FP_SAME);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(frame_is_set_up_and_undone, set_up),
		cmocka_unit_test_setup(enter_and_leave_are_both, set_up),
		cmocka_unit_test_setup(only_the_saved_value_restores_the_frame_pointer, set_up),
		cmocka_unit_test_setup(stores_outside_of_the_frame_save_nothing, set_up),
		cmocka_unit_test_setup(impossible_steps_are_refuted, set_up),
		cmocka_unit_test_setup(huge_frames_are_unknown, set_up),
		cmocka_unit_test_setup(both_registers_may_be_lost, set_up),
		cmocka_unit_test_setup(a_root_stays_one_and_does_not_return, set_up),
		cmocka_unit_test_setup(meeting_keeps_what_is_common, set_up),
		cmocka_unit_test_setup(states_agree_where_the_frame_pointer_is_saved, set_up),
		cmocka_unit_test_setup(rules_follow_from_states, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
