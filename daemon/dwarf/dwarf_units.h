/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the unit that a DIE is in, for references from other units: link-time optimisation and dwz
 * write many. The units' headers are indexed at the first search. Abbreviations are cached, since
 * neighbouring references alternate between a few units. One owner.
 */
#pragma once

#include "dwarf/dwarf_unit.h"

enum { DWARF_UNITS_TABLES = 256 };

struct dwarf_units {
	const struct dwarf_sections *sections, *alternate; /* borrowed; see struct dwarf_unit */
	const uint8_t **headers;			   /* ascending */
	size_t count, capacity;
	bool is_indexed;
	struct dwarf_unit unit; /* the last unit found; NULL sections: none */
	struct dwarf_abbreviations tables[DWARF_UNITS_TABLES]; /* by a hash of their offset */
	uint64_t table_items;				       /* in all tables */
	uint64_t budget_bytes; /* of abbreviations that remain to be read */
};

void dwarf_units_init(struct dwarf_units *units, const struct dwarf_sections *sections,
	const struct dwarf_sections *alternate);
void dwarf_units_done(struct dwarf_units *units);

/*
 * Returns the unit that contains `position` in .debug_info; valid until the next call. Returns 0;
 * -ENOENT no unit has DIEs there, or it is malformed; -ENOMEM.
 */
int dwarf_units_find(
	struct dwarf_units *units, const uint8_t *position, const struct dwarf_unit **ret_unit);
