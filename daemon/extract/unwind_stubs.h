/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the stubs of a procedure linkage table. Some linkers do not describe them in .eh_frame:
 * lld never does, and no linker does on aarch64. All stubs move the stack in one of a few ways, so
 * the first ones tell the layout; a table of an unknown layout is ignored. The file is hostile
 * (I8), but can only get wrong rules for its own stubs. A value object.
 *
 * Source: System V ABI, AMD64 supplement, 5.2, and lld's layouts with and without endbr64; ELF for
 * the Arm 64-bit Architecture, "Procedure Linkage Table".
 */
#pragma once

#include "extract/unwind_files.h"
#include "pilotlight/unwind.h"

enum { UNWIND_STUBS_MAX = 8 };

struct unwind_stub {
	uint32_t start, end; /* file offsets; not empty */
	struct pilotlight_unwind_rule rule;
};

struct unwind_stubs {
	struct unwind_stub stubs[UNWIND_STUBS_MAX]; /* by start; they may overlap */
	size_t count;
};

/* Adds a stub in its place; there must be room for it. */
void unwind_stubs_insert(struct unwind_stubs *stubs, const struct unwind_stub *stub);

/* Returns 0, or -errno from reading. A file with malformed headers has no stubs. */
int unwind_stubs_find(struct unwind_stubs *ret_stubs, const struct unwind_files *files);
