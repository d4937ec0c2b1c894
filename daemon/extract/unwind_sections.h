/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Copies or unpacks to scratch the sections with call frame information of a binary and its debug
 * file. It uses bounded reads, so a file that shrinks meanwhile is an error and not SIGBUS. The
 * files are hostile (I8). One owner.
 *
 * All sections are read, because a binary may have only the C library's functions in .eh_frame and
 * all others in .debug_frame.
 *
 * The .debug_frame of a Go program is ignored, because it does not say where frame pointers are
 * saved. Go's own table of functions serves instead (extract/unwind_go.h).
 */
#pragma once

#include "base/scratch.h"
#include "dwarf/cfi_section.h"
#include "extract/unwind_files.h"

/* .eh_frame, and .debug_frame of two files, in the order of precedence. */
enum { UNWIND_SECTIONS_MAX = 3 };

struct unwind_section {
	struct cfi_section cfi; /* borrows `contents` */
	bool is_of_debug_file;
	struct scratch_array contents;
};

struct unwind_sections {
	struct unwind_section sections[UNWIND_SECTIONS_MAX];
	size_t count;
	uint32_t failed; /* present but unreadable */
	bool is_go;
};

/* All zeros at first, and after done(). */
void unwind_sections_done(struct unwind_sections *sections);

/*
 * A malformed section only counts as failed. Returns 0; -ENOMEM; the scratch's errors; -EFBIG a
 * section exceeds the scratch's limit; another -errno from reading.
 */
int unwind_sections_read(struct unwind_sections *sections, const struct unwind_files *files,
	struct scratch *scratch);
