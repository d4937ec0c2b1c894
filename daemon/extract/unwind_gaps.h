/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The x86-64 code that neither call frame information, nor Go's table, nor known stubs describe: a
 * copy of its bytes, in ranges. Padding between functions is left out. Bounded reads copy it, so a
 * file that shrinks meanwhile is an error and not SIGBUS. One owner; the arrays are scratch.
 */
#pragma once

#include "base/scratch.h"
#include "extract/unwind_files.h"
#include "extract/unwind_functions.h"
#include "extract/unwind_go.h"
#include "extract/unwind_stubs.h"

/* More code of a file is left without rules. Inferring them takes up to 0.15 s of CPU a MiB in real
 * programs. Hostile code can double that. */
enum { UNWIND_GAPS_BYTES_MAX = 16 << 20 };

struct unwind_gap {
	uint32_t start, end; /* file offsets; not empty */
	uint32_t at;	     /* the place of its first byte in `bytes` */
	uint32_t segment;    /* of the code, by number: no jump leads to another one */
};

struct unwind_gaps {
	struct scratch_array gaps; /* by offset */
	struct scratch_array bytes;
};

/* All zeros at first, and after done(). */
void unwind_gaps_done(struct unwind_gaps *gaps);

/* Returns 0; -ENOMEM; the scratch's errors; another -errno from reading, -ENOEXEC if the file has
 * shrunk. */
int unwind_gaps_read(struct unwind_gaps *gaps, const struct unwind_functions *functions,
	const struct unwind_go *go, const struct unwind_stubs *stubs,
	const struct unwind_files *files, struct scratch *scratch);

/* The gap that holds a file offset; NULL: none. */
const struct unwind_gap *unwind_gaps_find(const struct unwind_gaps *gaps, uint32_t offset);
