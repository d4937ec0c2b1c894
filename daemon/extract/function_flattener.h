/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Turns the ranges of one function and its inlined calls, which enclose each other, into what the
 * code is in from one offset to the next. The function has the code of its own ranges; an inlined
 * call takes from it, and from the calls told before, whatever it shares with them: told after its
 * parent it is what is innermost. That is what llvm-symbolizer makes of debug information whose
 * calls do not lie within each other. All memory is scratch.
 */
#pragma once

#include "extract/code_spans.h"
#include "extract/frame_heap.h"

struct function_flattener {
	struct scratch_array ranges; /* of struct frame_range */
	struct frame_heap active;
};

/* Returns 0 or -ENOMEM. */
int function_flattener_init(struct function_flattener *flattener, struct scratch *scratch);
void function_flattener_done(struct function_flattener *flattener);

/* Of the function that is next. Not empty. Errors of scratch_array_reserve(). */
int function_flattener_add(
	struct function_flattener *flattener, uint32_t start, uint32_t end, uint32_t frame);

/*
 * Adds to `functions` a span for each stretch of the function's code, with its outermost frame
 * `root` as owner and entries of struct pilotlight_symbol_boundary, none of frame 0; then forgets
 * the ranges. `root` is less than all other frames. Errors of scratch_array_reserve().
 */
int function_flattener_flush(
	struct function_flattener *flattener, uint32_t root, struct code_spans *functions);
