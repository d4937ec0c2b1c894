/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the names of functions by their DIEs: the linkage name of the DIE, or of a DIE that its
 * DW_AT_abstract_origin and DW_AT_specification lead to, else the nearest DW_AT_name. A cache of
 * fixed size saves repeated look-ups for DIEs with many inlined calls. One owner.
 */
#pragma once

#include "dwarf/dwarf_units.h"
#include "extract/symbol_builder.h"

struct dwarf_names {
	struct symbol_builder *builder; /* borrowed */
	/* Targets of references across units: in the file itself, and in the alternate file. */
	struct dwarf_units units, alternate_units;
	struct dwarf_named_die *cache;
	uint32_t generation;  /* of the cache's entries */
	bool lacks_alternate; /* a name is in an alternate file that is missing */
};

/* `alternate`: the sections of the file that dwz made, or NULL. Returns 0 or -ENOMEM. */
int dwarf_names_init(struct dwarf_names *names, struct symbol_builder *builder,
	const struct dwarf_sections *sections, const struct dwarf_sections *alternate);
void dwarf_names_done(struct dwarf_names *names);

/* Clears the cache. Needed before other DIEs take the same addresses. */
void dwarf_names_forget(struct dwarf_names *names);

/* Sets *ret_name to 0 if there is no name. Returns 0 or the builder's errors. */
int dwarf_names_find(struct dwarf_names *names, const struct dwarf_unit *unit,
	const struct dwarf_die *die, uint32_t *ret_name);
