/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The DWARF sections of one file, uncompressed. A value object that borrows the bytes. */
#pragma once

#include "dwarf/dwarf_bytes.h"

struct dwarf_sections {
	/* Empty if the file lacks them. */
	struct dwarf_bytes info, abbrev, line, line_str, str;
	struct dwarf_bytes str_offsets, addr, ranges, rnglists;
	struct dwarf_bytes cu_index; /* of a package of split DWARF files */
	uint32_t info_index;	     /* the number of the ELF section that `info` is */
};

/* The NUL-terminated string at `offset` of .debug_str or .debug_line_str; NULL: there is none. */
static inline const char *dwarf_sections_string(const struct dwarf_bytes *section, uint64_t offset)
{
	struct dwarf_bytes bytes = *section;

	return dwarf_bytes_take(&bytes, offset) ? dwarf_bytes_string(&bytes) : NULL;
}
