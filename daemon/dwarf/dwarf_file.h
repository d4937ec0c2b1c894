/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An ELF file that is open for its DWARF sections. The file is mapped, and compressed sections
 * (SHF_COMPRESSED with zlib, and the older .zdebug_) are unpacked to the scratch file. So neither
 * the file nor a decompression bomb decides how much memory is used. The file is hostile (I8). One
 * owner.
 */
#pragma once

#include "base/scratch.h"
#include "dwarf/dwarf_sections.h"
#include "symbol/elf_file.h"

struct dwarf_file {
	void *mapping; /* NULL: the file is closed */
	size_t mapping_bytes;
	struct elf_file elf; /* of the mapping */
	bool is_split;
	bool has_unpacked; /* `unpacked` is initialized, used or not */
	struct scratch_array unpacked;
	struct scratch *scratch; /* borrowed */
	struct dwarf_sections sections;
};

/*
 * Opens the file that `fd` is, and finds the first section of each name. `is_split`: the file is a
 * .dwo file or a package, whose sections' names end in ".dwo". `file` is all zeros, or open: then
 * it is closed first, and its room in the scratch file is used again. Returns 0; -ENOEXEC damaged;
 * -ENOTSUP compressed with an unknown method (zstd); -EFBIG beyond the scratch's limit; -ENOMEM;
 * -ENOSPC; another -errno from mapping it. A failure leaves it closed. A file that shrinks while it
 * is mapped ends the process with SIGBUS.
 */
int dwarf_file_open(struct dwarf_file *file, int fd, bool is_split, struct scratch *scratch);

/* A .dwo file may have a .debug_info.dwo for each of its types. Makes `sections->info` the next
 * one. False: there is no other. */
bool dwarf_file_next_info(struct dwarf_file *file, struct dwarf_sections *sections);

void dwarf_file_close(struct dwarf_file *file);
