/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unwind tables read in a way that is too simple to be wrong, to hold the real one against. */
#pragma once

#include "unwind/unwind_table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline uint32_t unwind_table_model_rule(
	const struct unwind_table *table, uint32_t line, uint32_t position)
{
	uint32_t row = line * PILOTLIGHT_UNWIND_LINE_ROWS + position;

	if (table->lines[line].rules[position] != PILOTLIGHT_UNWIND_ESCAPE)
		return table->lines[line].rules[position];
	for (uint32_t i = 0; i < table->summary->escape_count; i++)
		if (table->escapes[i].row == row)
			return table->escapes[i].rule;
	return UINT32_MAX;
}

/* The rule's number, or -1 where the table knows of nothing; `ret_start` is the row's. */
static inline int64_t unwind_table_model_find(
	const struct unwind_table *table, uint64_t offset, uint64_t *ret_start)
{
	uint64_t first = (uint64_t)table->summary->first_page * 4096;
	int64_t rule = -1;

	if (offset < first || offset >= first + (uint64_t)table->summary->page_count * 4096)
		return -1;
	for (uint32_t i = 0; i < table->summary->line_count; i++)
		for (uint32_t j = 0; j < PILOTLIGHT_UNWIND_LINE_ROWS; j++) {
			const struct pilotlight_unwind_line *line = &table->lines[i];
			uint64_t start = (uint64_t)line->base + line->deltas[j];

			if (line->deltas[j] == 0xffff || start > offset)
				continue;
			*ret_start = start;
			rule = unwind_table_model_rule(table, i, j);
		}
	return rule;
}

/* Do the lookup and the model give one answer? */
static inline bool unwind_table_model_agrees_at(const struct unwind_table *table, uint64_t offset)
{
	struct unwind_row row;
	uint64_t start = 0;
	int64_t rule = unwind_table_model_find(table, offset, &start);

	if (!unwind_table_find(table, offset, &row))
		return rule == -1;
	return rule >= 0 && rule < table->summary->rule_count && row.start == start &&
	       row.rule == &table->rules[rule] && row.start <= offset && offset < row.end;
}

/* Around the beginning and the end of every `step`th row; and do rows follow on each other? */
static inline bool unwind_table_model_agrees(const struct unwind_table *table, uint32_t step)
{
	struct unwind_row_cursor cursor = { .table = table };
	struct unwind_row row;
	uint64_t end = 0;
	uint32_t rows = 0;

	while (unwind_row_cursor_next(&cursor, &row)) {
		struct unwind_row found;

		if ((rows > 0 && row.start != end) || row.end < row.start)
			return false;
		end = row.end;
		if (rows++ % step != 0)
			continue;
		for (int i = -2; i <= 2; i++)
			if (!unwind_table_model_agrees_at(table, row.start + (uint64_t)i) ||
				!unwind_table_model_agrees_at(table, row.end + (uint64_t)i))
				return false;
		if (row.end > row.start && (!unwind_table_find(table, row.start, &found) ||
						   found.end != row.end || found.rule != row.rule))
			return false;
	}
	return rows == table->summary->row_count && unwind_table_model_agrees_at(table, 0) &&
	       unwind_table_model_agrees_at(table, UINT32_MAX) &&
	       unwind_table_model_agrees_at(table, UINT64_MAX);
}
