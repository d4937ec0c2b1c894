/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The files that an unwind table is made from: the binary, and its debug file if the two match.
 * The files are hostile (I8), so only bounded reads touch the headers. A value object that borrows
 * the descriptors.
 */
#pragma once

#include "extract/code_segments.h"
#include "symbol/elf_file.h"
#include "symbol/symbol_identity.h"

struct extraction_files;

struct unwind_files {
	struct elf_file binary, debug;
	bool has_debug;
	/* Of the binary, by vaddr; only parts with contents in the file. */
	struct code_segments code;
};

/*
 * Returns 0; -ENODATA no binary, no code, a machine or width without unwind tables, or a foreign
 * byte order; -EFBIG too many segments, or code beyond 4 GiB; -ENOEXEC damaged; another -errno
 * from reading.
 */
int unwind_files_open(struct unwind_files *ret_files, const struct extraction_files *files);

/*
 * Returns the file offset of a vaddr, and the bytes from there to the end of its segment. False if
 * the vaddr is not code.
 */
bool unwind_files_find_offset(const struct unwind_files *files, uint64_t vaddr,
	uint32_t *ret_offset, uint32_t *ret_bytes);
