/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the split unit of a skeleton unit in a .dwo file or in a package. */
#pragma once

#include "dwarf/dwarf_unit.h"

/*
 * Searches .debug_info of `split`, the sections of a .dwo file or of one unit in a package. Each
 * unit examined lowers *units_left, because hostile skeletons may all name the same file. The unit
 * borrows all arguments. Returns 0; -ENOENT not found; -EBADMSG the unit, or one before it, is
 * malformed, or *units_left is 0; -ENOMEM.
 */
int dwarf_split_find(const struct dwarf_sections *split, const struct dwarf_unit *skeleton,
	struct dwarf_abbreviations *abbreviations, uint64_t *units_left,
	struct dwarf_unit *ret_unit, struct dwarf_die *ret_first);
