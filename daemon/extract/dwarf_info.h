/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads functions, inlined calls and source lines from DWARF 2 to 5, one compilation unit at a
 * time. DIEs and line programs are not kept, so time is linear in the file and memory does not
 * grow with it. Runs in a worker (I8).
 *
 * With split DWARF, the main file has the lines and the skeletons of its units; their functions
 * are in other files (dwarf_split_files.h). A skeleton whose split unit is missing is a loss.
 *
 * A function's name is the linkage name of its DIE, or of a DIE that DW_AT_abstract_origin and
 * DW_AT_specification lead to, else its DW_AT_name. Paths are those of llvm-symbolizer: made
 * absolute by the unit's folder, and not simplified.
 */
#pragma once

#include "dwarf/dwarf_file.h"
#include "dwarf/dwarf_split_files.h"
#include "extract/symbol_builder.h"

/* Data that the DWARF refers to in files that are missing. */
struct dwarf_info_gaps {
	bool alternate; /* names */
	bool split;	/* the functions of units */
};

/*
 * Adds all units of a file to the builder. `alternate` is the file that dwz made; closed: none.
 * All arguments are borrowed. A unit that is malformed or lacks its split unit is counted as
 * a loss; a missing alternate file is one loss. Returns 0; -ENODATA no DWARF; -ENOEXEC nothing is
 * readable; or the builder's errors.
 */
int dwarf_info_read(struct symbol_builder *builder, const struct dwarf_file *file,
	const struct dwarf_file *alternate, struct dwarf_split_files *split_files,
	struct dwarf_info_gaps *ret_gaps);
