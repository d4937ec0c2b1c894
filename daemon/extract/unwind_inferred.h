/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Infers unwind rules from x86-64 instructions, for code that nothing describes
 * (extract/unwind_gaps.h): musl's libc, programs built with -fno-asynchronous-unwind-tables, C code
 * in programs that Go's linker has linked, hand-written assembler.
 *
 * Functions start at the entry, at symbols, and where known functions call. Between the code that
 * these reach, functions start that only pointers lead to; and there are parts of functions that
 * only tables of jumps lead to. What such code does with the stack tells the two apart.
 *
 * Where the analysis does not know, there is no rule. The entry has no caller, nor has the child's
 * part of musl's clone(). One owner; the arrays are scratch.
 */
#pragma once

#include "extract/code_walk.h"
#include "extract/unwind_gaps.h"

/* The code from `offset` to the next row. */
struct unwind_inferred_row {
	uint32_t offset; /* in the file */
	uint32_t state;	 /* in `states`, + 1; 0: none */
};

struct unwind_inferred {
	struct scratch_array rows; /* by offset; the last one of each gap has no state */
	struct code_state *states; /* owned */
	bool has_entry;		   /* the program's entry is in a gap that was read */
};

/* All zeros at first, and after done(). */
void unwind_inferred_done(struct unwind_inferred *inferred);

/*
 * Without Zydis there are no rows. Returns 0; -ENOMEM; the scratch's errors; another -errno from
 * reading.
 */
int unwind_inferred_read(struct unwind_inferred *inferred, const struct unwind_gaps *gaps,
	const struct unwind_files *files, struct scratch *scratch);

/*
 * Appends the file offsets at which functions start, ascending: the entry, symbols, and where known
 * functions call. Without Zydis there are none. Returns as above. The array is of uint32_t.
 */
int unwind_inferred_find_starts(struct scratch_array *starts, const struct unwind_gaps *gaps,
	const struct unwind_files *files, struct scratch *scratch);

/* The rule of a row. */
struct pilotlight_unwind_rule unwind_inferred_rule(
	const struct unwind_inferred *inferred, const struct unwind_inferred_row *row);
