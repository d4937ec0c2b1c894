/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rows of an unwind table, read one after the other: too simple to be wrong. The sampler's
 * lookup is held against them. */
#pragma once

#include "unwind/unwind_table.h"

#include <stdbool.h>
#include <stdint.h>

/* Code with one rule. */
struct unwind_row {
	uint64_t start, end; /* file offsets; the last row ends where the pages end */
	const struct pilotlight_unwind_rule *rule; /* borrowed */
};

/* Initialize with zeros and the table. */
struct unwind_row_cursor {
	const struct unwind_table *table;
	uint32_t line, position, escape;
};

static inline uint64_t unwind_row_start(const struct unwind_row_cursor *cursor)
{
	const struct unwind_table *table = cursor->table;
	const struct pilotlight_unwind_line *line = &table->lines[cursor->line];

	if (cursor->line < table->summary->line_count)
		return (uint64_t)line->base + line->deltas[cursor->position];
	return ((uint64_t)table->summary->first_page + table->summary->page_count)
	       << PILOTLIGHT_UNWIND_PAGE_SHIFT;
}

/* Rows in ascending order. Returns false behind the last one. */
static inline bool unwind_row_cursor_next(
	struct unwind_row_cursor *cursor, struct unwind_row *ret_row)
{
	const struct unwind_table *table = cursor->table;
	const struct pilotlight_unwind_line *line;
	uint32_t rule;

	if (cursor->line == table->summary->line_count)
		return false;
	line = &table->lines[cursor->line];
	rule = line->rules[cursor->position];
	if (rule == PILOTLIGHT_UNWIND_ESCAPE)
		rule = table->escapes[cursor->escape++].rule;
	ret_row->start = unwind_row_start(cursor);
	ret_row->rule = &table->rules[rule];
	if (++cursor->position == PILOTLIGHT_UNWIND_LINE_ROWS ||
		line->deltas[cursor->position] == PILOTLIGHT_UNWIND_DELTA_UNUSED) {
		cursor->position = 0;
		cursor->line++;
	}
	ret_row->end = unwind_row_start(cursor);
	return true;
}

/* The row of a file offset; false where there is none. Takes time in proportion to the table. */
static inline bool unwind_row_find(
	const struct unwind_table *table, uint64_t offset, struct unwind_row *ret_row)
{
	struct unwind_row_cursor cursor = { .table = table };
	struct unwind_row row;

	while (unwind_row_cursor_next(&cursor, &row))
		if (row.start <= offset && offset < row.end) {
			*ret_row = row;
			return true;
		}
	return false;
}
