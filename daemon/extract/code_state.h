/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Says where the caller's frame is before an x86-64 instruction, relative to the stack pointer and
 * to the frame pointer. Each instruction changes it. A value object.
 *
 * CFA, the canonical frame address, is the caller's stack pointer after the return. The return
 * address is right below it.
 */
#pragma once

#include "extract/code_instruction.h"
#include "pilotlight/unwind.h"

struct code_state {
	int32_t depth;	 /* CFA = rsp + depth; 0: unknown */
	int32_t frame;	 /* CFA = rbp + frame; 0: rbp does not point to the frame */
	int32_t saved;	 /* the caller's rbp is at CFA + saved; 0: it is not saved */
	bool is_callers; /* rbp still has, or has again, the caller's value */
	bool is_root;	 /* there is no caller */
	uint8_t reserved[2];
};

/* At the start of a function. */
struct code_state code_state_of_entry(void);

/* In code that has no caller. */
struct code_state code_state_of_root(void);

/*
 * Changes the state as the instruction does. Returns false if no function does such a thing, so
 * that the state, or the start of the function, must be wrong: it pops its return address, or
 * returns from another place or without a caller.
 */
bool code_state_apply(struct code_state *state, const struct code_instruction *instruction);

/*
 * Is the stack as at the start of a function, so that the code may go on to another function? Not
 * without a caller.
 */
bool code_state_can_leave(const struct code_state *state);

bool code_state_is_same(const struct code_state *a, const struct code_state *b);

/*
 * Is the caller's frame in the same place? Where the caller's frame pointer is saved, it does not
 * matter whether the register still has it: loops begin with it, and return without it.
 */
bool code_state_agree(const struct code_state *a, const struct code_state *b);

/* Keeps what two states have in common. Returns false if the CFA is then unknown. */
bool code_state_meet(struct code_state *state, const struct code_state *other);

/* Returns the rule; of kind STOP if the CFA is unknown. */
struct pilotlight_unwind_rule code_state_rule(const struct code_state *state);
