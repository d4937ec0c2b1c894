/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The unwind table of a symbol file (pilotlight/unwind.h), checked as a whole before it is used:
 * the sampler searches it in the kernel, and relies on what it says of itself. Borrows the file's
 * memory and owns nothing. Any number of threads may read.
 */
#pragma once

#include "pilotlight/unwind.h"

#include <stdbool.h>
#include <stdint.h>

struct symbol_file;

struct unwind_table {
	const struct pilotlight_unwind_summary *summary;
	/* As many as the summary tells; NULL where it tells of none. */
	const uint32_t *pages; /* one more than `page_count`, where that is not 0 */
	const struct pilotlight_unwind_line *lines;
	const struct pilotlight_unwind_rule *rules;
	const struct pilotlight_unwind_escape *escapes;
};

/* Code that one rule holds for. */
struct unwind_row {
	uint64_t start, end; /* file offsets; of the last, `end` is the pages' */
	const struct pilotlight_unwind_rule *rule; /* borrowed */
};

/*
 * `file` is borrowed for as long as the table is used. Time is linear in the table's size. Returns
 * 0; -ENODATA the file has no table; -EBADMSG a count, a page, a row, a rule or an escape is not as
 * pilotlight/unwind.h has it.
 */
int unwind_table_init(struct unwind_table *ret_table, const struct symbol_file *file);

/* Finds the row of a file offset as the sampler does; false where there is none. */
bool unwind_table_find(
	const struct unwind_table *table, uint64_t file_offset, struct unwind_row *ret_row);

/* What all the sections take, in bytes. */
uint64_t unwind_table_bytes(const struct unwind_table *table);

/* All rows, in ascending order: starts as zeros but for the table. */
struct unwind_row_cursor {
	const struct unwind_table *table;
	uint32_t line, position, escape;
};

/* Returns false behind the last one. */
bool unwind_row_cursor_next(struct unwind_row_cursor *cursor, struct unwind_row *ret_row);
