/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A package of split DWARF (.dwp): the sections of many .dwo files concatenated. Its index,
 * .debug_cu_index, says which part of each section belongs to which unit (DWARF 5, 7.3.5; version 2
 * is GNU's for DWARF 4). The bytes are hostile (I8): a look-up takes a bounded number of steps. A
 * value object that borrows the sections.
 */
#pragma once

#include "dwarf/dwarf_sections.h"

#include <stdint.h>

struct dwarf_package {
	struct dwarf_sections sections;
	struct dwarf_bytes ids;	    /* of units, by slot of the hash table */
	struct dwarf_bytes rows;    /* of the tables below, by slot; 0: the slot is free */
	struct dwarf_bytes columns; /* which section is in which column */
	struct dwarf_bytes offsets, sizes;
	uint32_t column_count, unit_count, slot_count;
	uint32_t version;
};

/* Returns 0; -ENODATA it has no index; -EBADMSG the index is malformed. */
int dwarf_package_open(struct dwarf_package *ret_package, const struct dwarf_sections *sections);

/* Returns the sections of the unit `id`. Returns 0; -ENOENT it is not in the package; -EBADMSG its
 * entry is malformed. */
int dwarf_package_find(
	const struct dwarf_package *package, uint64_t id, struct dwarf_sections *ret_sections);
