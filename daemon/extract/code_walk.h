/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Follows control through the code of a file's gaps (extract/unwind_gaps.h), and notes before each
 * instruction where the caller's frame is. A walk follows one function from its start, without its
 * calls. It either fits what is known, and is kept, or it does not.
 *
 * A walk is refuted by what no function does: it returns, or goes on to another function, while
 * something is on the stack or the frame pointer is not the caller's; it returns though it has no
 * caller; it pops its return address; two ways lead to one instruction with different stacks; or it
 * meets invalid code. Behind a call that does not return, other code follows; a difference found
 * there refutes nothing.
 *
 * Each instruction has a mark. The number of decoded instructions is bounded, so hostile code (I8)
 * only costs its own file's rows. No recursion. One owner; the arrays are scratch.
 */
#pragma once

#include "base/hash_index.h"
#include "extract/code_state.h"
#include "extract/unwind_gaps.h"

/* A mark: the state's id + CODE_MARK_STATES, or one of the others; and flags. */
enum {
	CODE_MARK_NONE = 0,
	CODE_MARK_INSIDE = 1,  /* not the first byte of its instruction */
	CODE_MARK_UNKNOWN = 2, /* the analysis failed here */
	CODE_MARK_STATES = 3,
	CODE_MARK_VALUE = (1 << 24) - 1,
	CODE_MARK_IS_KEPT = 1 << 24,  /* of a walk that was kept */
	CODE_MARK_IS_WEAK = 1 << 25,  /* only reached if a call before it returns */
	CODE_MARK_IS_OPEN = 1 << 26,  /* the next code may have the same state: behind an indirect
				       * jump, or behind a call whose padding hides what follows */
	CODE_MARK_IS_START = 1 << 27, /* of a function */
};

/* What a walk found for its own case. */
enum code_verdict { CODE_REFUTED, CODE_POSSIBLE, CODE_CONFIRMED };

struct code_walk {
	const struct unwind_gaps *gaps; /* borrowed */
	struct scratch_array marks;	/* for each byte of code */
	struct code_state *states;	/* owned; distinct */
	size_t state_count, state_capacity;
	struct hash_index state_index;
	struct scratch_array edges; /* of the current walk: where it must still go */
	struct scratch_array falls; /* of the current walk: behind its calls */
	struct scratch_array log;   /* of the current walk: its instructions */
	struct scratch_array calls; /* of all walks that were kept: the functions to be walked */
	size_t calls_kept;
	uint64_t instructions_left; /* that may still be decoded */
};

/* Borrows the gaps. Returns 0; -ENOMEM; the scratch's errors. */
int code_walk_init(struct code_walk *walk, const struct unwind_gaps *gaps, struct scratch *scratch);
void code_walk_done(struct code_walk *walk);

/*
 * How sure it is that a function, or a part of one, begins somewhere. CERTAIN: other code that
 * reaches the place has left its own function. If the walk is refuted, its instructions are kept as
 * unknown. LIKELY: the walk is kept unless it is refuted. GUESS: only if the code confirms it. Both
 * are refuted by code that is known to be unknown.
 */
enum code_claim { CODE_CERTAIN, CODE_LIKELY, CODE_GUESS };

/*
 * Follows the code at place `at` of the gaps, with this state. Returns 0; -ENOMEM; the scratch's
 * errors.
 */
int code_walk_run(struct code_walk *walk, uint32_t at, const struct code_state *state,
	enum code_claim claim, enum code_verdict *ret_verdict);

/*
 * Marks a place as the start of a function, to be walked. If other code has been followed into it,
 * behind a call that does not return, that is forgotten. Returns 0; the scratch's errors.
 */
int code_walk_add_start(struct code_walk *walk, uint32_t at);

/* The gap that has the place. */
const struct unwind_gap *code_walk_gap(const struct code_walk *walk, uint32_t at);

static inline uint32_t *code_walk_marks(const struct code_walk *walk)
{
	return walk->marks.items;
}

/* The state that a mark has; NULL: none. */
static inline const struct code_state *code_walk_state(const struct code_walk *walk, uint32_t mark)
{
	uint32_t value = mark & CODE_MARK_VALUE;

	return value < CODE_MARK_STATES ? NULL : &walk->states[value - CODE_MARK_STATES];
}
