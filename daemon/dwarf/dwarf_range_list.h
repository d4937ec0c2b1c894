/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The ranges of code of a DIE's DW_AT_ranges: in .debug_ranges up to DWARF 4, in .debug_rnglists
 * from DWARF 5 on (2.17.3). A value object that borrows the unit.
 */
#pragma once

#include "dwarf/dwarf_unit.h"

struct dwarf_range_list {
	const struct dwarf_unit *unit;
	struct dwarf_bytes entries;
	uint64_t base_address;
};

/* Returns 0; -EBADMSG no such list. */
int dwarf_range_list_open(struct dwarf_range_list *ret_list, const struct dwarf_unit *unit,
	const struct dwarf_die *die);

/*
 * Returns the next entry as [start, end); an entry that only sets a base is an empty range.
 * Returns 1; 0 at the end; -EBADMSG malformed.
 */
int dwarf_range_list_next(struct dwarf_range_list *list, uint64_t *ret_start, uint64_t *ret_end);
