/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The ranges of code that DW_AT_ranges of a DIE in a piece of split DWARF leads to: in the main
 * file's .debug_ranges (DWARF 4) or the piece's .debug_rnglists.dwo (DWARF 5, 2.17.3). A value
 * object that borrows the unit's sections.
 */
#pragma once

#include "dwarf/dwarf_unit.h"

struct dwarf_range_list {
	const struct dwarf_skeleton *skeleton;
	struct dwarf_bytes entries;
	uint64_t base_address;
	uint16_t version;
};

/* `unit` is of a piece. Returns 0; -EBADMSG there is no such list. */
int dwarf_range_list_open(struct dwarf_range_list *ret_list, const struct dwarf_unit *unit,
	const struct dwarf_die *die);

/* The next entry as [start, end); one that says something else is an empty range. Returns 1; 0 at
 * the end; -EBADMSG it makes no sense. */
int dwarf_range_list_next(struct dwarf_range_list *list, uint64_t *ret_start, uint64_t *ret_end);
