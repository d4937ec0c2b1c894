/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The line number program of a compilation unit (DWARF 2 to 5, 6.2): its source files and its rows.
 * It is run row by row and never kept, however long it is. Paths are those of llvm-symbolizer: the
 * unit's folder, the file's folder and its name, joined and not simplified. One owner; used for one
 * unit after the other.
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
	uint64_t budget_bytes; /* that may still be read, all units together */

	struct dwarf_bytes program;
	struct dwarf_bytes opcode_lengths;
	uint16_t version;
	uint8_t offset_bytes;
	uint8_t instruction_bytes; /* of the machine, at least */
	int8_t line_base;
	uint8_t line_range;
	uint8_t opcode_base;
};

void line_table_init(
	struct line_table *table, struct symbol_builder *builder, uint64_t budget_bytes);
void line_table_done(struct line_table *table);

/* A unit without lines: no file is known. */
void line_table_clear(struct line_table *table);

/*
 * Reads the header at `offset` of .debug_line; `folder` is the unit's. Returns 0; -EBADMSG it makes
 * no sense: then the table is clear; -ENOMEM.
 */
int line_table_open(struct line_table *table, const struct dwarf_sections *sections,
	uint64_t offset, const char *folder);

/* The builder's id of a file by DWARF's number; 0: there is none. Returns 0 or its errors. */
int line_table_file(struct line_table *table, uint64_t number, uint32_t *ret_file);

/* DW_LNE_define_file, by the program. Returns 0, -EBADMSG or -ENOMEM. */
int line_table_define_file(struct line_table *table, struct dwarf_bytes *operands);

/* Runs the program. Returns 0; -EBADMSG it makes no sense from somewhere on; the builder's errors.
 */
int line_table_read_rows(struct line_table *table);
