/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the unit that a skeleton stands for among the units of its piece. */
#pragma once

#include "dwarf/dwarf_unit.h"

/*
 * Looks through .debug_info of `piece`, which are the sections of a .dwo file or of a part of a
 * package. `*units_left` is how many units may still be looked at, for many skeletons may name one
 * piece. The unit borrows all that is given. Returns 0; -ENOENT it is not there; -EBADMSG it, or
 * what is before it, makes no sense; -ENOMEM.
 */
int dwarf_split_find(const struct dwarf_sections *piece, const struct dwarf_unit *skeleton,
	struct dwarf_abbreviations *abbreviations, uint64_t *units_left,
	struct dwarf_unit *ret_unit, struct dwarf_die *ret_first);
