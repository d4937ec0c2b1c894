/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The files that an unwind table is made of: the binary, and a debug file if it is of the same
 * link. Headers are read with bounded reads; the files are hostile (I8). A value object that
 * borrows the descriptors.
 */
#pragma once

#include "extract/code_segments.h"
#include "symbol/elf_file.h"
#include "symbol/symbol_identity.h"

struct extraction_files;

struct unwind_files {
	struct elf_file binary, debug;
	bool has_debug;
	/* Of the binary, by vaddr; only what has contents in the file. */
	struct code_segments code;
};

/*
 * Returns 0; -ENODATA there is no binary, it is not of a machine and width that has unwind tables
 * or the host's byte order, or it has no code; -EFBIG more segments than anyone has, or code beyond
 * 4 GiB; -ENOEXEC damaged; another -errno from reading.
 */
int unwind_files_open(struct unwind_files *ret_files, const struct extraction_files *files);

/*
 * The offset in the file of a vaddr, and how many bytes of its segment there are from it on. False
 * where there is no code.
 */
bool unwind_files_find_offset(const struct unwind_files *files, uint64_t vaddr,
	uint32_t *ret_offset, uint32_t *ret_bytes);
