/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Collects all functions described by call frame information, sorted by file offset, and the CIEs
 * that they refer to. Each CIE is parsed once, however many functions refer to it. Time is linear
 * in the sections, plus a binary search for each CIE reference. The arrays are scratch. One owner,
 * one thread.
 */
#pragma once

#include "base/scratch.h"
#include "dwarf/cfi_cie.h"
#include "extract/unwind_files.h"
#include "extract/unwind_sections.h"

struct unwind_function {
	uint32_t start, end; /* file offsets; not empty */
	uint32_t entry;	     /* its FDE, an offset in the section of its CIE */
	uint32_t cie;	     /* index in `cies` */
};

struct unwind_cie {
	struct cfi_cie cie;
	bool is_usable;
	uint32_t section; /* by number */
};

struct unwind_functions {
	struct scratch_array functions; /* by start; equal ones as read */
	struct scratch_array cies;
	uint32_t failed; /* FDEs that are malformed or cover bytes that are not code */
};

/* All zeros at first, and after done(). */
void unwind_functions_done(struct unwind_functions *functions);

/* Returns 0, -ENOMEM or the scratch's errors. */
int unwind_functions_read(struct unwind_functions *functions,
	const struct unwind_sections *sections, const struct unwind_files *files,
	struct scratch *scratch);
