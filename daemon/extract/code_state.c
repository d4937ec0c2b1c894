/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/code_state.h"

#include "dwarf/cfi_program.h"

enum {
	WORD_BYTES = 8,
	/* No frame is larger. So sums of two distances do not overflow. */
	DISTANCE_MAX = 1 << 29,
};

struct code_state code_state_of_entry(void)
{
	return (struct code_state){ .depth = WORD_BYTES, .is_callers = true };
}

struct code_state code_state_of_root(void)
{
	return (struct code_state){ .is_root = true };
}

static bool is_sane(int32_t distance)
{
	return distance > -DISTANCE_MAX && distance < DISTANCE_MAX;
}

/* rsp += bytes. Returns false if the return address is then no longer on the stack. */
static bool move(struct code_state *state, int32_t bytes)
{
	if (state->depth == 0)
		return true;
	if (!is_sane(bytes)) {
		state->depth = 0;
		return true;
	}
	state->depth -= bytes;
	if (!is_sane(state->depth))
		state->depth = 0;
	else if (state->depth < WORD_BYTES)
		return false;
	/* What lies below the stack pointer may be overwritten. */
	if (state->saved != 0 && state->saved < -state->depth)
		state->saved = 0;
	return true;
}

static void lose_rbp(struct code_state *state)
{
	state->frame = 0;
	state->is_callers = false;
}

/* rbp is stored at rsp + value. */
static void store(struct code_state *state, int32_t value)
{
	int32_t place = value - state->depth;

	/* A second store keeps the first place: code stores it again as an argument. */
	if (state->is_callers && state->depth != 0 && state->saved == 0 && is_sane(value) &&
		place < -WORD_BYTES && value >= 0)
		state->saved = place;
}

/* rbp is loaded from rsp + value. */
static void load(struct code_state *state, int32_t value)
{
	bool is_saved = state->depth != 0 && state->saved != 0 && is_sane(value) &&
			value - state->depth == state->saved;

	state->frame = 0;
	state->is_callers = is_saved;
}

static void set_frame(struct code_state *state, int32_t value)
{
	state->is_callers = false;
	state->frame = is_sane(value) && state->depth != 0 ? state->depth - value : 0;
}

/* A function that has not changed the frame pointer does not take the stack pointer from it: that
 * would drop the caller's frame. Code that does was jumped to, as V8's BaselineLeaveFrame is. */
static bool take_rsp_from_rbp(struct code_state *state)
{
	state->depth = state->frame;
	return !state->is_callers;
}

static bool leave(struct code_state *state)
{
	if (!take_rsp_from_rbp(state))
		return false;
	load(state, 0);
	return move(state, WORD_BYTES);
}

static bool apply_effect(struct code_state *state, const struct code_instruction *instruction)
{
	int32_t value = instruction->value;

	switch (instruction->effect) {
	case CODE_EFFECT_PUSH:
		return move(state, -value);
	case CODE_EFFECT_POP:
		return move(state, value);
	case CODE_EFFECT_PUSH_RBP:
		if (!move(state, -WORD_BYTES))
			return false;
		store(state, 0);
		return true;
	case CODE_EFFECT_POP_RBP:
		load(state, 0);
		return move(state, WORD_BYTES);
	case CODE_EFFECT_LEAVE:
		return leave(state);
	case CODE_EFFECT_ENTER:
		if (!move(state, -WORD_BYTES))
			return false;
		store(state, 0);
		set_frame(state, 0);
		return move(state, -value);
	case CODE_EFFECT_RSP_FROM_RBP:
		return take_rsp_from_rbp(state) && move(state, value);
	case CODE_EFFECT_RSP_UNKNOWN:
		state->depth = 0;
		return true;
	case CODE_EFFECT_RBP_FROM_RSP:
		set_frame(state, value);
		return true;
	case CODE_EFFECT_RBP_ADD:
		state->is_callers = false;
		state->frame = state->frame != 0 && is_sane(value) && is_sane(state->frame - value)
				       ? state->frame - value
				       : 0;
		return true;
	case CODE_EFFECT_RBP_STORE:
		store(state, value);
		return true;
	case CODE_EFFECT_RBP_LOAD:
		load(state, value);
		return true;
	case CODE_EFFECT_RBP_ZERO:
	case CODE_EFFECT_RBP_UNKNOWN:
		lose_rbp(state);
		return true;
	case CODE_EFFECT_BOTH_UNKNOWN:
		state->depth = 0;
		lose_rbp(state);
		return true;
	default:
		return true;
	}
}

bool code_state_can_leave(const struct code_state *state)
{
	return state->depth == WORD_BYTES && state->is_callers;
}

bool code_state_apply(struct code_state *state, const struct code_instruction *instruction)
{
	if (state->is_root)
		return instruction->flow != CODE_FLOW_RETURN;
	if (instruction->flow == CODE_FLOW_RETURN)
		return code_state_can_leave(state) || (state->depth == 0 && state->frame == 0);
	return apply_effect(state, instruction);
}

bool code_state_is_same(const struct code_state *a, const struct code_state *b)
{
	return a->depth == b->depth && a->frame == b->frame && a->saved == b->saved &&
	       a->is_callers == b->is_callers && a->is_root == b->is_root;
}

bool code_state_agree(const struct code_state *a, const struct code_state *b)
{
	return a->depth == b->depth && a->frame == b->frame && a->saved == b->saved &&
	       (a->is_callers == b->is_callers || a->saved != 0) && a->is_root == b->is_root;
}

bool code_state_meet(struct code_state *state, const struct code_state *other)
{
	bool is_known = state->depth != 0 || state->frame != 0;

	if (state->is_root || other->is_root)
		return state->is_root == other->is_root;
	if (state->depth != other->depth)
		state->depth = 0;
	if (state->frame != other->frame)
		state->frame = 0;
	if (state->saved != other->saved)
		state->saved = 0;
	if (!other->is_callers)
		state->is_callers = false;
	return !is_known || state->depth != 0 || state->frame != 0;
}

struct pilotlight_unwind_rule code_state_rule(const struct code_state *state)
{
	const uint8_t *numbers = cfi_registers_x86_64.numbers;
	struct pilotlight_unwind_rule rule = { .kind = PILOTLIGHT_UNWIND_STOP };

	if (state->is_root) {
		rule.kind = PILOTLIGHT_UNWIND_ROOT;
		return rule;
	}
	if (state->depth == 0 && state->frame == 0)
		return rule;
	rule.kind = PILOTLIGHT_UNWIND_INFERRED;
	rule.base = numbers[state->frame != 0 ? CFI_FRAME_POINTER : CFI_STACK_POINTER];
	rule.offset = state->frame != 0 ? state->frame : state->depth;
	if (state->saved != 0) {
		rule.frame_pointer = PILOTLIGHT_UNWIND_FP_AT_CFA;
		rule.frame_pointer_offset = state->saved;
	} else {
		rule.frame_pointer = (uint8_t)(state->is_callers ? PILOTLIGHT_UNWIND_FP_SAME
								 : PILOTLIGHT_UNWIND_FP_UNKNOWN);
	}
	return rule;
}
