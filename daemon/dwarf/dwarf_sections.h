/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The DWARF sections that we read ourselves, as libelf has them: borrowed from the Elf, and
 * uncompressed as libdw takes them. A value object.
 */
#pragma once

#include "dwarf/dwarf_bytes.h"

#include <libelf.h>

struct dwarf_sections {
	/* Empty where there are none. */
	struct dwarf_bytes info, abbrev, line, line_str, str;
	struct dwarf_bytes str_offsets, addr, ranges, rnglists;
	struct dwarf_bytes cu_index; /* of a package of pieces */
	size_t info_index;	     /* which section of the file `info` is */
};

/*
 * The first of each name; of a piece of split DWARF or a package those whose names end in ".dwo".
 * Returns 0 or -ENOEXEC.
 */
int dwarf_sections_find(Elf *elf, bool is_split, struct dwarf_sections *ret_sections);

/* A piece may have a .debug_info.dwo for each of its types: makes `info` the next one. False: there
 * is no other. */
bool dwarf_sections_next_info(Elf *elf, struct dwarf_sections *sections);

/* The NUL-terminated string at `offset` of .debug_str or .debug_line_str; NULL: there is none. */
const char *dwarf_sections_string(const struct dwarf_bytes *section, uint64_t offset);
