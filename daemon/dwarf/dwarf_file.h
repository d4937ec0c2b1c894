/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An ELF file that is open for its DWARF sections. The file is mapped, and compressed sections
 * (SHF_COMPRESSED with zlib, and the older .zdebug_) are unpacked to scratch. So neither the
 * file's size nor a decompression bomb determines the memory. The file is hostile (I8). One owner.
 */
#pragma once

#include "base/scratch.h"
#include "dwarf/dwarf_sections.h"
#include "symbol/elf_file.h"

struct dwarf_file {
	void *mapping; /* of the file and a page of zeros; NULL: the file is closed */
	size_t mapping_bytes;
	struct elf_file elf; /* of the mapping */
	bool is_split;
	bool has_unpacked; /* `unpacked` is initialized, used or not */
	struct scratch_array unpacked;
	struct scratch *scratch; /* borrowed */
	struct dwarf_sections sections;
	struct dwarf_next_info *next_infos; /* of dwarf_file_next_info(), in the file's order */
	size_t next_info_count, next_info_capacity;
};

/*
 * Opens `fd` and finds the first section of each name. `is_split`: a .dwo file or a package, whose
 * section names end in ".dwo". `file` is all zeros or open; an open file is closed first, and its
 * scratch array is used again. Returns 0; -ENOEXEC damaged; -ENOTSUP unknown compression (zstd);
 * -EFBIG beyond the scratch's limit; -ENOMEM; -ENOSPC; another -errno from mapping. A failure
 * leaves it closed. If the file shrinks while it is mapped, SIGBUS ends the process.
 */
int dwarf_file_open(struct dwarf_file *file, int fd, bool is_split, struct scratch *scratch);

/*
 * A .dwo file may have a .debug_info.dwo for each of its types. Sets `sections->info` to the next
 * one. Returns false if there is no other.
 */
bool dwarf_file_next_info(struct dwarf_file *file, struct dwarf_sections *sections);

/*
 * Gives back the pages that were read, which count as the process's memory; those that are read
 * again come from the page cache. Pointers stay valid. Does nothing to a closed file.
 */
void dwarf_file_release_pages(const struct dwarf_file *file);

void dwarf_file_close(struct dwarf_file *file);
