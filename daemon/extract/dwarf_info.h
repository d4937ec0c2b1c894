/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions, inlined calls and source lines out of DWARF 2 to 5: one compilation unit at a time.
 * DIEs and line programs are read as they stand, so that the work is linear in the file and none of
 * it is kept; libdw finds units and answers what needs other sections. What libdw keeps is given
 * back every some units, so that memory does not grow with the file. Runs in a worker: libdw parses
 * hostile bytes (I8), and what it cannot take costs the worker at most.
 *
 * Names are linkage names where DWARF has them (DW_AT_linkage_name of the DIE, or of what its
 * DW_AT_abstract_origin and DW_AT_specification lead to), else DW_AT_name. Files are what
 * llvm-symbolizer prints: made absolute by the unit's folder, and not simplified.
 */
#pragma once

#include "extract/symbol_builder.h"

#include <elfutils/libdw.h>

/*
 * Tells the builder of all units of `elf`; `alternate` is the file that dwz made, or NULL. Both are
 * borrowed. A unit that makes no sense is counted as a loss, and so is, once, that names are said
 * to be in an alternate file where there is none, which `ret_lacks_alternate` tells. Returns 0;
 * -ENODATA no DWARF; -ENOEXEC none of it can be read; or the builder's errors.
 */
int dwarf_info_read(
	struct symbol_builder *builder, Elf *elf, Elf *alternate, bool *ret_lacks_alternate);
