/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The DWARF sections that we read ourselves, as libelf has them: borrowed from the Elf, and
 * uncompressed as libdw takes them. A value object.
 */
#pragma once

#include "extract/dwarf_bytes.h"

#include <libelf.h>

struct dwarf_sections {
	struct dwarf_bytes info, abbrev, line, line_str, str; /* empty where there are none */
};

/* Of a .dwo file those whose names end so. Returns 0 or -ENOEXEC. */
int dwarf_sections_find(Elf *elf, bool is_split, struct dwarf_sections *ret_sections);

/* The NUL-terminated string at `offset` of .debug_str or .debug_line_str; NULL: there is none. */
const char *dwarf_sections_string(const struct dwarf_bytes *section, uint64_t offset);
