/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Builds the rows of an unwind table, in the order of the code. A function of .debug_frame counts
 * only if no function of .eh_frame overlaps it. Where other functions overlap, the code belongs to
 * the one that starts first; of equal starts, to the first one read. The other keeps what remains
 * behind it. Code between functions gets a row of kind STOP, except known stubs.
 *
 * In a Go program, code between functions is Go code, which has no call frame information but
 * keeps frame pointers. It gets a row that finds the caller by the frame pointer. A cgo program
 * also has rows for its C functions; other gaps count as Go code, where an unwinder may skip a
 * frame at worst. A frame pointer of 0 marks the start of a goroutine. If there is no function at
 * all, there are no rows, and the flag alone says so.
 *
 * One owner, one thread; the rows are scratch.
 */
#pragma once

#include "base/scratch.h"
#include "extract/unwind_functions.h"
#include "extract/unwind_rules.h"
#include "extract/unwind_stubs.h"

struct unwind_rows_item {
	uint32_t offset; /* in the file */
	uint32_t rule;	 /* id in `rules` */
};

struct unwind_rows {
	struct scratch_array items;
	struct unwind_rules rules; /* some may be unused */
	uint32_t function_count;
	uint32_t failed;   /* functions that are malformed, or hidden by a different function */
	uint32_t eh_count; /* functions of .eh_frame */
	uint32_t debug_file_count;
	bool keeps_frame_pointers;
	bool tells_rbx; /* a rule restores rbx (pilotlight/unwind.h) */
};

/* All zeros at first, and after done(). */
void unwind_rows_done(struct unwind_rows *rows);

/*
 * Borrows all arguments. Returns 0; -EFBIG more rules than a table holds; -ENOMEM; the scratch's
 * errors.
 */
int unwind_rows_build(struct unwind_rows *rows, const struct unwind_functions *functions,
	const struct unwind_sections *sections, const struct unwind_files *files,
	const struct unwind_stubs *stubs, struct scratch *scratch);
