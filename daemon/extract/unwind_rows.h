/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rows of an unwind table, of all functions in order. Of .debug_frame only functions count that
 * no function of .eh_frame overlaps. Of others that overlap, the one that begins first has the
 * code, of those that begin together the one that was told first, and what is left of the other
 * behind it is still its own. Code between functions is in a row of kind STOP, but for stubs that
 * are known of.
 *
 * In a Go program such code is Go's, which keeps frame pointers and of which nobody tells anything:
 * it is in a row that finds the caller by the frame pointer, beside those of a cgo program's C
 * functions. What is left between these is taken for Go code too, where a frame is passed over at
 * worst. A frame pointer of 0 is where a goroutine began. Where no function is told of at all there
 * are no rows, and the flag alone says it.
 *
 * One owner, one thread; rows are in the scratch file.
 */
#pragma once

#include "base/scratch.h"
#include "extract/unwind_functions.h"
#include "extract/unwind_rules.h"
#include "extract/unwind_stubs.h"

struct unwind_rows_item {
	uint32_t offset; /* in the file */
	uint32_t rule;	 /* by the number that `rules` gave */
};

struct unwind_rows {
	struct scratch_array items;
	struct unwind_rules rules; /* some may be of no row */
	uint32_t function_count;
	uint32_t failed;   /* functions that make no sense, or are hidden and are not the same */
	uint32_t eh_count; /* of the functions, those of .eh_frame */
	uint32_t debug_file_count;
	bool keeps_frame_pointers;
	bool tells_rbx; /* the rules do (pilotlight/unwind.h) */
};

/* All zeros at first, and after done(). */
void unwind_rows_done(struct unwind_rows *rows);

/* All is borrowed. Returns 0; -EFBIG more rules than a table has; -ENOMEM; the scratch's errors. */
int unwind_rows_build(struct unwind_rows *rows, const struct unwind_functions *functions,
	const struct unwind_sections *sections, const struct unwind_files *files,
	const struct unwind_stubs *stubs, struct scratch *scratch);
