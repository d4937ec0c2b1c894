/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The stubs of a procedure linkage table, of which only some linkers tell in .eh_frame: lld does
 * not, nor does any for aarch64. What a stub does to the stack is the same everywhere but for a few
 * layouts, so that a look at the first ones tells; one that looks otherwise is left out. The file
 * is hostile (I8): what it can have is wrong rules for its own stubs. A value object.
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

/* Returns 0, or -errno from reading; headers that make no sense have no stubs. */
int unwind_stubs_find(struct unwind_stubs *ret_stubs, const struct unwind_files *files);
