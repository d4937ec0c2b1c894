/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The names of functions by their DIEs: the linkage name of the DIE or of what its
 * DW_AT_abstract_origin and DW_AT_specification lead to, else the nearest DW_AT_name. What a DIE of
 * many inlined calls is called is looked up once, as long as it is in a cache of fixed size. One
 * owner.
 */
#pragma once

#include "dwarf/dwarf_unit.h"
#include "extract/symbol_builder.h"

struct dwarf_names {
	struct symbol_builder *builder; /* borrowed */
	struct dwarf_named_die *cache;
	uint32_t generation;	/* of what is in the cache */
	uint64_t foreign_count; /* DIEs of other units that libdw was asked for since */
	bool lacks_alternate;	/* a name is in an alternate file, and there is none */
};

/* Returns 0 or -ENOMEM. */
int dwarf_names_init(struct dwarf_names *names, struct symbol_builder *builder);
void dwarf_names_done(struct dwarf_names *names);

/* libdw begins anew, and the file's sections may have moved. */
void dwarf_names_forget(struct dwarf_names *names);

/* The DIEs that were asked about are no longer where they were. */
void dwarf_names_forget_dies(struct dwarf_names *names);

/* 0: it has none. Returns 0 or the builder's errors. */
int dwarf_names_find(struct dwarf_names *names, const struct dwarf_unit *unit,
	const struct dwarf_die *die, uint32_t *ret_name);
