/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions, inlined calls and source lines out of DWARF 2 to 5: one compilation unit at a time.
 * DIEs and line programs are read as they stand, so that the work is linear in the file and none of
 * it is kept; libdw finds units and answers what needs other sections. What libdw keeps is given
 * back every some units, so that memory does not grow with the file. Runs in a worker: libdw parses
 * hostile bytes (I8), and what it cannot take costs the worker at most.
 *
 * Of split DWARF the main file has the lines and skeletons of the units; their functions are in
 * pieces (dwarf_pieces.h), which libdw never sees. A unit without its piece is a loss.
 *
 * Names are linkage names where DWARF has them (DW_AT_linkage_name of the DIE, or of what its
 * DW_AT_abstract_origin and DW_AT_specification lead to), else DW_AT_name. Files are what
 * llvm-symbolizer prints: made absolute by the unit's folder, and not simplified.
 */
#pragma once

#include "dwarf/dwarf_pieces.h"
#include "extract/symbol_builder.h"

#include <elfutils/libdw.h>

/* What is said to be in other files, and was not to be had. */
struct dwarf_info_gaps {
	bool alternate; /* names */
	bool pieces;	/* the functions of units */
};

/*
 * Tells the builder of all units of `elf`; `alternate` is the file that dwz made, or NULL. All are
 * borrowed. A unit that makes no sense or lacks its piece is counted as a loss, and so is, once,
 * that names are said to be in an alternate file where there is none. Returns 0; -ENODATA no DWARF;
 * -ENOEXEC none of it can be read; or the builder's errors.
 */
int dwarf_info_read(struct symbol_builder *builder, Elf *elf, Elf *alternate,
	struct dwarf_pieces *pieces, struct dwarf_info_gaps *ret_gaps);
