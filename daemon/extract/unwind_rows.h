/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Builds the rows of an unwind table, in the order of the code. A function of .debug_frame counts
 * only if no function of .eh_frame overlaps it. Where other functions overlap, the code belongs to
 * the one that starts first; of equal starts, to the first one read. The other keeps what remains
 * behind it. Code between functions gets the rows that were inferred from its instructions
 * (extract/unwind_inferred.h), else one of kind STOP, except known stubs.
 *
 * In a Go program, code between functions has the rows of Go's functions (extract/unwind_go.h); the
 * other functions are in C. If Go's table cannot be read, and there is no other function at all,
 * there are no rows. The flag alone then says that the program keeps frame pointers. On aarch64
 * such code gets a row that finds the caller by the frame pointer.
 *
 * One owner, one thread; the rows are scratch.
 */
#pragma once

#include "base/scratch.h"
#include "extract/unwind_functions.h"
#include "extract/unwind_go.h"
#include "extract/unwind_inferred.h"
#include "extract/unwind_rules.h"
#include "extract/unwind_stubs.h"

struct unwind_rows_item {
	uint32_t offset; /* in the file */
	uint32_t rule;	 /* id in `rules` */
};

struct unwind_rows {
	struct scratch_array items;
	struct unwind_rules rules; /* some may be unused */
	uint32_t function_count;   /* without those of Go */
	uint32_t failed;   /* functions that are malformed, or hidden by a different function */
	uint32_t eh_count; /* functions of .eh_frame */
	uint32_t debug_file_count;
	bool keeps_frame_pointers;
	bool tells_rbx; /* a rule restores rbx (pilotlight/unwind.h) */
};

/* All zeros at first, and after done(). */
void unwind_rows_done(struct unwind_rows *rows);

/*
 * Borrows all arguments; `go` has no rows if the program is not in Go; `inferred` may have none,
 * too. Returns 0; -EFBIG more rules than a table holds; -ENOMEM; the scratch's errors.
 */
int unwind_rows_build(struct unwind_rows *rows, const struct unwind_functions *functions,
	const struct unwind_sections *sections, const struct unwind_files *files,
	const struct unwind_stubs *stubs, const struct unwind_go *go,
	const struct unwind_inferred *inferred, struct scratch *scratch);
