/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tells how far a symbol without a size may reach. Call frame information has start and length of
 * nearly all compiled functions, also of those whose names were stripped. Functions written in
 * assembler lack it, and so do all of musl's libc. Of these, other code calls the start of the
 * next one, and padding behind a return or jump shows an end. It may be too early, which costs a
 * name; but a name that reaches too far is wrong.
 *
 * The file is hostile (I8). One owner, one thread; the arrays are scratch.
 */
#pragma once

#include "extract/unwind_files.h"
#include "extract/unwind_functions.h"
#include "extract/unwind_sections.h"

struct function_bounds {
	struct unwind_files files;
	struct unwind_sections sections;
	struct unwind_functions functions;
	struct scratch_array starts; /* of functions without it: uint32_t, file offsets */
};

/* All zeros at first, and after done(). */
void function_bounds_done(struct function_bounds *bounds);

/*
 * Borrows the binary's descriptor. What cannot be read gives no bounds, but without memory the
 * result is -ENOMEM.
 */
int function_bounds_read(struct function_bounds *bounds, int binary_fd, struct scratch *scratch);

/* Finds the functions that the code calls, if Zydis is loaded (extract/unwind_inferred.h). Costs
 * up to 0.15 s of CPU a MiB. Returns 0 or -ENOMEM, as above. */
int function_bounds_infer(struct function_bounds *bounds, struct scratch *scratch);

/*
 * Returns the end of the function with call frame information that contains the vaddr, or else the
 * start of the next function. UINT64_MAX: there is none. `ret_is_inside` tells which.
 */
uint64_t function_bounds_end(
	const struct function_bounds *bounds, uint64_t vaddr, bool *ret_is_inside);

/*
 * Visits the functions with call frame information by the order of their file offsets, until
 * `visit` returns an error; returns that or 0.
 */
int function_bounds_each(const struct function_bounds *bounds,
	int (*visit)(void *context, uint64_t start, uint64_t end), void *context);

/*
 * Guesses the end of a function from its x86-64 code: at most `limit`, at most 64 KiB behind the
 * vaddr. Returns `limit` for other machines.
 */
uint64_t function_bounds_guess_end(
	const struct function_bounds *bounds, uint64_t vaddr, uint64_t limit);
