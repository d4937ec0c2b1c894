/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Steps of the walk in code without rules: guesses by the frame pointer, and, in the generated code
 * of runtimes that are known, what these say.
 */
#pragma once

#include "epilogue.bpf.h"
#include "walk_step.bpf.h"
#include "walker_state.bpf.h"

/* Constant, set before loading. 0: the frames of interpreters are not walked. The kernel then
 * neither verifies nor keeps the code for them; before Linux 6.8 it verifies it all the same. */
const volatile __u8 wants_runtimes = 1;

static __always_inline int is_jit(const struct walked_mapping *mapping)
{
	return !mapping->has_file ||
	       (mapping->is_known_file && mapping->file.flags & PILOTLIGHT_FILE_BY_ADDRESS);
}

/* A global function, for the verifier. */
__noinline int step_by_pointer(struct walk *walk, enum frame_pointers frame_pointers)
{
	return walk ? step_by_frame_pointer(walk, frame_pointers) : PILOTLIGHT_WALK_UNSUPPORTED;
}

__noinline int step_to_return(struct walk *walk)
{
	return walk ? step_by_epilogue(walk) : PILOTLIGHT_WALK_UNSUPPORTED;
}

/*
 * Tries the frame pointer in code without a rule, unless its next instructions return: generated or
 * written by hand, or in a file without a table. The walk ends with `otherwise` if the frame
 * pointer leads nowhere, also if that shows only in the next step.
 */
static __always_inline int guess_by_frame_pointer(
	struct walk *walk, enum frame_pointers frame_pointers, int otherwise)
{
	int end = step_to_return(walk);

	if (end != NO_EPILOGUE)
		return end;
	end = step_by_pointer(walk, frame_pointers);
	if (end != WALK_ON)
		return end == PILOTLIGHT_WALK_ROOT ? end : otherwise;
	walk->guess_end = otherwise;
	return WALK_ON;
}

/*
 * In a file whose table is not ready. The frame pointer may be that of a caller further out, so the
 * stack is drawn as cut even if it reaches a root.
 */
static __always_inline int guess_without_table(struct walk *walk)
{
	walk->is_untabled = walk->has_untabled = 1;
	return guess_by_frame_pointer(walk, FRAME_POINTERS_GUESSED, PILOTLIGHT_WALK_NO_TABLE);
}

/* Of runtime_hotspot_sample.bpf.h. */
int know_runtime(struct walker *walker);
int step_hotspot(struct walker *walker, __u64 where);

/* Of runtime_php_sample.bpf.h. know_program() returns WALK_ON. */
int know_program(struct walker *walker);
int step_php_code(struct walker *walker);

/* Of runtime_ruby_sample.bpf.h. */
int step_ruby_code(struct walker *walker);

/* Of the process whose generated code it is nothing is known, not even whether its program is a
 * runtime. */
static __always_inline int must_ask(const struct walk *walk)
{
	return wants_runtimes && walk->runtime.number == RUNTIME_NONE &&
	       walk->hotspot.number == RUNTIME_NONE && !walk->has_asked_again;
}

/* Goes from the last frame, which is in memory without a file, to its caller. */
static __always_inline int step_in_generated_code(struct walker *walker, __u64 where)
{
	struct walk *walk = &walker->walk;
	int end;

	if (wants_runtimes && walk->hotspot.number != RUNTIME_NONE) {
		end = step_hotspot(walker, where);
		return end != HOTSPOT_OTHER ? end
					    : guess_by_frame_pointer(walk, FRAME_POINTERS_USUAL,
						      PILOTLIGHT_WALK_NO_FUNCTION);
	}
	if (wants_runtimes && walk->runtime.number != RUNTIME_NONE &&
		(step_php_code(walker) || step_ruby_code(walker)))
		return WALK_ON;
	walk->has_jit |= WALK_GUESSES_JIT;
	return guess_by_frame_pointer(walk, FRAME_POINTERS_USUAL, PILOTLIGHT_WALK_NO_FRAME_POINTER);
}
