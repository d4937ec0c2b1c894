/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sections with call frame information of a binary and its debug file, copied to scratch with
 * bounded reads, or unpacked to it: a file that shrinks meanwhile is an error and no SIGBUS. The
 * files are hostile (I8). One owner.
 *
 * All of them are read, since a binary may have few functions in .eh_frame, those of the C library
 * that every program is linked with, and all others in .debug_frame.
 *
 * A Go program's .debug_frame is passed over, as it does not say where frame pointers are saved;
 * but it keeps them.
 */
#pragma once

#include "base/scratch.h"
#include "dwarf/cfi_section.h"
#include "extract/unwind_files.h"

/* .eh_frame, and .debug_frame of two files, in the order in which they are believed. */
enum { UNWIND_SECTIONS_MAX = 3 };

struct unwind_section {
	struct cfi_section cfi; /* borrows `contents` */
	bool is_of_debug_file;
	struct scratch_array contents;
};

struct unwind_sections {
	struct unwind_section sections[UNWIND_SECTIONS_MAX];
	size_t count;
	uint32_t failed; /* that are there and could not be had */
	bool is_go;
};

/* All zeros at first, and after done(). */
void unwind_sections_done(struct unwind_sections *sections);

/*
 * What makes no sense is a section that failed. Returns 0, -ENOMEM, the scratch's errors, or
 * another -errno from reading; -EFBIG of a section that is longer than there is room for.
 */
int unwind_sections_read(struct unwind_sections *sections, const struct unwind_files *files,
	struct scratch *scratch);
