/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Flattens the ranges of one function and its inlined calls, which nest, to a list of boundaries:
 * from this offset on, the code is in that frame. The code that the function has is what its own
 * ranges cover. Where several frames cover a byte, the one with the greatest number has it. A call
 * is added after its parent, so that is the innermost one; llvm-symbolizer decides the same way
 * for calls that cross. All memory is scratch.
 */
#pragma once

#include "extract/code_spans.h"

struct function_flattener {
	struct scratch_array ranges; /* of the function that is being read */
	struct scratch_array active; /* ranges that have begun, by ascending frame */
};

/* Returns 0 or -ENOMEM. */
int function_flattener_init(struct function_flattener *flattener, struct scratch *scratch);
void function_flattener_done(struct function_flattener *flattener);

/* Adds [start, end), which is not empty. Errors of scratch_array_reserve(). */
int function_flattener_add(
	struct function_flattener *flattener, uint32_t start, uint32_t end, uint32_t frame);

/*
 * Ends the function: adds a span to `functions` for each stretch of its code, with the outermost
 * frame `root` as owner and entries of struct pilotlight_symbol_boundary, then forgets the ranges.
 * `root` is less than all other frames. Errors of scratch_array_reserve().
 */
int function_flattener_flush(
	struct function_flattener *flattener, uint32_t root, struct code_spans *functions);
