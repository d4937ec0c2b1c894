/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The line number program of a compilation unit (DWARF 2 to 5, 6.2): its source files and rows.
 * The program runs row by row, and no rows are kept. Paths are those of llvm-symbolizer: the
 * unit's folder, the file's folder and its name, joined and not simplified. One owner; one object
 * reads one unit after another.
 */
#pragma once

#include "dwarf/dwarf_sections.h"
#include "extract/symbol_builder.h"

struct line_table {
	struct symbol_builder *builder; /* borrowed */
	const char *folder;		/* DW_AT_comp_dir, borrowed; "" unknown */
	const char **folders;		/* borrowed */
	size_t folder_count, folder_capacity;
	struct line_file *files;
	size_t file_count, file_capacity;
	uint64_t budget_bytes; /* remaining for all units together */

	struct dwarf_bytes program;
	struct dwarf_bytes opcode_lengths;
	uint16_t version;
	uint8_t offset_bytes;
	uint8_t instruction_bytes; /* the shortest of the machine */
	int8_t line_base;
	uint8_t line_range;
	uint8_t opcode_base;
};

void line_table_init(
	struct line_table *table, struct symbol_builder *builder, uint64_t budget_bytes);
void line_table_done(struct line_table *table);

/* Prepares for a unit without lines: no file is known. */
void line_table_clear(struct line_table *table);

/*
 * Reads the header at `offset` of .debug_line; `folder` is the unit's. Returns 0; -EBADMSG
 * malformed, and the table is clear; -ENOMEM.
 */
int line_table_open(struct line_table *table, const struct dwarf_sections *sections,
	uint64_t offset, const char *folder);

/*
 * Returns the builder's id of a file by its number in DWARF; 0: unknown. Returns 0 or the
 * builder's errors.
 */
int line_table_file(struct line_table *table, uint64_t number, uint32_t *ret_file);

/* Runs DW_LNE_define_file. Returns 0, -EBADMSG or -ENOMEM. */
int line_table_define_file(struct line_table *table, struct dwarf_bytes *operands);

/*
 * Runs the program. Returns 0; -EBADMSG malformed, after valid rows were added; the builder's
 * errors.
 */
int line_table_read_rows(struct line_table *table);
