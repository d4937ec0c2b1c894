/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Makes rows for the functions of a Go program from its table of functions (dwarf/go_table.h),
 * which says for each address how far the stack pointer is from the return address. Whether a
 * function has saved the frame pointer is read from its first instructions.
 *
 * Some functions of the runtime change to another stack. There the frame pointer leads back: it is
 * that of the stack left behind. Others are the first of their stack, or the code to which signal
 * handlers return. They are known by name. Functions in C, which the table may list too, have no
 * rows of their own.
 *
 * Only for x86-64. One owner; the rows are scratch.
 */
#pragma once

#include "base/scratch.h"
#include "dwarf/go_table.h"
#include "extract/unwind_files.h"
#include "pilotlight/unwind.h"

enum unwind_go_kind {
	UNWIND_GO_NOTHING,  /* not code of Go, or malformed */
	UNWIND_GO_PLAIN,    /* the frame pointer is the caller's */
	UNWIND_GO_SAVED,    /* the caller's frame pointer is below the return address */
	UNWIND_GO_SWITCHED, /* found by the frame pointer, maybe on another stack */
	UNWIND_GO_ROOT,
	UNWIND_GO_SIGNAL,
};

/* The code from `offset` to the next row. */
struct unwind_go_row {
	uint32_t offset; /* in the file */
	uint32_t depth;	 /* bytes from the stack pointer to the return address */
	enum unwind_go_kind kind;
};

struct unwind_go {
	struct scratch_array rows; /* by offset; the last has the kind NOTHING */
	uint32_t function_count;   /* with rows */
	uint32_t failed;	   /* malformed functions */
	uint64_t code_bytes;	   /* of functions with rows */
};

/* All zeros at first, and after done(). */
void unwind_go_done(struct unwind_go *go);

/*
 * Reads the table of a Go program. A program whose table is missing, malformed or too big has no
 * rows.
 * Returns 0; -ENOMEM; the scratch's errors; another -errno from reading.
 */
int unwind_go_read(struct unwind_go *go, const struct unwind_files *files, struct scratch *scratch);

/* The rule of a row. */
struct pilotlight_unwind_rule unwind_go_rule(const struct unwind_go_row *row);
