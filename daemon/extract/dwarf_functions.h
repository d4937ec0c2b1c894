/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Gives the builder the functions of one compilation unit and the calls that were inlined into
 * them: DW_TAG_subprogram and DW_TAG_inlined_subroutine with code, at any depth. One owner; one
 * object reads one unit after another.
 */
#pragma once

#include "dwarf/dwarf_unit.h"
#include "extract/dwarf_names.h"
#include "extract/line_table.h"
#include "extract/symbol_builder.h"

struct dwarf_functions {
	struct symbol_builder *builder; /* borrowed, as the next */
	struct dwarf_names *names;
	const uint8_t **nested; /* nested functions that remain to be read */
	size_t nested_count, nested_capacity;
	uint64_t ranges_left; /* remaining reads from range lists, which many DIEs may share */
};

void dwarf_functions_init(struct dwarf_functions *functions, struct symbol_builder *builder,
	struct dwarf_names *names, uint64_t ranges_max);
void dwarf_functions_done(struct dwarf_functions *functions);

/*
 * `lines` has the source files of calls. `has_code_in_types`: in the unit's language, types may
 * contain functions with code. Returns 0; -EBADMSG the unit is malformed from some DIE on; the
 * builder's errors.
 */
int dwarf_functions_read(struct dwarf_functions *functions, const struct dwarf_unit *unit,
	struct line_table *lines, bool has_code_in_types);
