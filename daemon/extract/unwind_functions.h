/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * All functions that sections with call frame information tell of, in the order of their places in
 * the file, with the CIEs that they refer to. Each CIE is understood once, however many functions
 * refer to it, and none that is not there can be referred to: time is linear in the sections, but
 * for looking up CIEs, and what grows is in the scratch file. One owner, one thread.
 */
#pragma once

#include "base/scratch.h"
#include "dwarf/cfi_cie.h"
#include "extract/unwind_files.h"
#include "extract/unwind_sections.h"

struct unwind_function {
	uint32_t start, end; /* file offsets; not empty */
	uint32_t entry;	     /* its FDE, an offset in the section of its CIE */
	uint32_t cie;	     /* by number */
};

struct unwind_cie {
	struct cfi_cie cie;
	bool is_usable;
	uint32_t section; /* by number */
};

struct unwind_functions {
	struct scratch_array functions; /* sorted by start; of one start as they were told */
	struct scratch_array cies;
	uint32_t failed; /* FDEs that made no sense, or told of what is not all code */
};

/* All zeros at first, and after done(). */
void unwind_functions_done(struct unwind_functions *functions);

/* Returns 0, -ENOMEM or the scratch's errors. */
int unwind_functions_read(struct unwind_functions *functions,
	const struct unwind_sections *sections, const struct unwind_files *files,
	struct scratch *scratch);
