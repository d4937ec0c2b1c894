/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads functions, inlined calls and source lines from the table of functions of a Go program
 * (dwarf/go_table.h), for programs without DWARF. Names stay as Go writes them.
 */
#pragma once

#include "dwarf/go_table.h"
#include "extract/symbol_builder.h"

/*
 * Adds all functions of the table to the builder. A function that is malformed is counted as a
 * loss. All arguments are borrowed. Returns 0, or the builder's and the scratch's errors.
 */
int go_functions_read(
	struct symbol_builder *builder, struct go_table *table, struct scratch *scratch);
