/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions, inlined calls and source lines from DWARF 2 to 5, one compilation unit at a time. DIEs
 * and line programs are read as they stand and not kept, so that time is linear in the file and
 * memory does not grow with it. Runs in a worker (I8).
 *
 * A main file with split DWARF has the lines and the skeletons of its units; their functions are in
 * other files (dwarf_split_files.h). A skeleton whose split unit is missing is a loss.
 *
 * A function's name is its linkage name, if the DIE or one that its DW_AT_abstract_origin and
 * DW_AT_specification lead to has one, else its DW_AT_name. Files are what llvm-symbolizer prints:
 * made absolute by the unit's folder, and not simplified.
 */
#pragma once

#include "dwarf/dwarf_split_files.h"
#include "extract/symbol_builder.h"

/* What the DWARF says is in other files that are missing. */
struct dwarf_info_gaps {
	bool alternate; /* names */
	bool split;	/* the functions of units */
};

/*
 * Adds all units of a file to the builder. `alternate`: the sections of the file that dwz made, or
 * NULL. All are borrowed. A unit that makes no sense or lacks its split unit is counted as a loss;
 * a missing alternate file is one loss. Returns 0; -ENODATA no DWARF; -ENOEXEC none of it can be
 * read; or the builder's errors.
 */
int dwarf_info_read(struct symbol_builder *builder, const struct dwarf_sections *sections,
	const struct dwarf_sections *alternate, struct dwarf_split_files *split_files,
	struct dwarf_info_gaps *ret_gaps);
