/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unwind/unwind_table.h"

#include "symbol/symbol_file.h"
#include "unwind/unwind_table_check.h"

#include <assert.h>
#include <errno.h>

static bool has_counts_of(
	const struct pilotlight_unwind_summary *summary, const struct symbol_file *file)
{
	uint64_t pages = symbol_file_count(file, PILOTLIGHT_SYMBOL_UNWIND_PAGES);

	/* The one that pages end with may be left out where there are none. */
	if (pages != (uint64_t)summary->page_count + 1 && (pages > 0 || summary->page_count > 0))
		return false;
	return symbol_file_count(file, PILOTLIGHT_SYMBOL_UNWIND_LINES) == summary->line_count &&
	       symbol_file_count(file, PILOTLIGHT_SYMBOL_UNWIND_RULES) == summary->rule_count &&
	       symbol_file_count(file, PILOTLIGHT_SYMBOL_UNWIND_ESCAPES) == summary->escape_count;
}

int unwind_table_init(struct unwind_table *ret_table, const struct symbol_file *file)
{
	struct unwind_table table = {
		.summary = symbol_file_unwind(file),
		.pages = symbol_file_unwind_pages(file),
		.lines = symbol_file_unwind_lines(file),
		.rules = symbol_file_unwind_rules(file),
		.escapes = symbol_file_unwind_escapes(file),
	};

	if (!table.summary)
		return -ENODATA;
	if (symbol_file_count(file, PILOTLIGHT_SYMBOL_UNWIND) != 1 ||
		!has_counts_of(table.summary, file) || !unwind_table_is_sound(&table))
		return -EBADMSG;
	*ret_table = table;
	return 0;
}

uint64_t unwind_table_bytes(const struct unwind_table *table)
{
	const struct pilotlight_unwind_summary *summary = table->summary;
	uint64_t pages = summary->page_count > 0 ? (uint64_t)summary->page_count + 1 : 0;

	return sizeof(*summary) + pages * sizeof(*table->pages) +
	       (uint64_t)summary->line_count * sizeof(*table->lines) +
	       (uint64_t)summary->rule_count * sizeof(*table->rules) +
	       (uint64_t)summary->escape_count * sizeof(*table->escapes);
}

static uint32_t escaped_rule(const struct unwind_table *table, uint32_t row)
{
	uint32_t low = 0, count = table->summary->escape_count;

	while (count > 1) {
		uint32_t half = count / 2;

		low += table->escapes[low + half].row <= row ? half : 0;
		count -= half;
	}
	assert(count == 1 && table->escapes[low].row == row);
	return table->escapes[low].rule;
}

static uint64_t pages_end(const struct unwind_table *table)
{
	return ((uint64_t)table->summary->first_page + table->summary->page_count)
	       << PILOTLIGHT_UNWIND_PAGE_SHIFT;
}

static uint64_t row_start(const struct pilotlight_unwind_line *line, uint32_t position)
{
	return (uint64_t)line->base + line->deltas[position];
}

static uint64_t row_end(const struct unwind_table *table, uint32_t line, uint32_t position)
{
	const struct pilotlight_unwind_line *of = &table->lines[line];

	if (position + 1 < PILOTLIGHT_UNWIND_LINE_ROWS &&
		of->deltas[position + 1] != PILOTLIGHT_UNWIND_DELTA_UNUSED)
		return row_start(of, position + 1);
	if (line + 1 < table->summary->line_count)
		return table->lines[line + 1].base;
	return pages_end(table);
}

bool unwind_table_find(
	const struct unwind_table *table, uint64_t file_offset, struct unwind_row *ret_row)
{
	uint64_t page = file_offset >> PILOTLIGHT_UNWIND_PAGE_SHIFT;
	const struct pilotlight_unwind_line *line;
	uint32_t low, high, delta, position = 0, rule;

	if (page < table->summary->first_page ||
		page - table->summary->first_page >= table->summary->page_count)
		return false;
	page -= table->summary->first_page;
	low = table->pages[page];
	high = table->pages[page + 1];
	while (low < high) {
		uint32_t middle = low + (high - low + 1) / 2;

		if (table->lines[middle].base <= file_offset)
			low = middle;
		else
			high = middle - 1;
	}
	line = &table->lines[low];
	if (line->base > file_offset)
		return false;
	delta = (uint32_t)(file_offset - line->base);
	if (delta > PILOTLIGHT_UNWIND_DELTA_MAX)
		delta = PILOTLIGHT_UNWIND_DELTA_MAX;
	for (uint32_t i = 1; i < PILOTLIGHT_UNWIND_LINE_ROWS; i++)
		position += line->deltas[i] <= delta;
	rule = line->rules[position];
	if (rule == PILOTLIGHT_UNWIND_ESCAPE)
		rule = escaped_rule(table, low * PILOTLIGHT_UNWIND_LINE_ROWS + position);
	*ret_row = (struct unwind_row){
		.start = row_start(line, position),
		.end = row_end(table, low, position),
		.rule = &table->rules[rule],
	};
	return true;
}

bool unwind_row_cursor_next(struct unwind_row_cursor *cursor, struct unwind_row *ret_row)
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
	*ret_row = (struct unwind_row){
		.start = row_start(line, cursor->position),
		.end = row_end(table, cursor->line, cursor->position),
		.rule = &table->rules[rule],
	};
	cursor->position++;
	if (cursor->position == PILOTLIGHT_UNWIND_LINE_ROWS ||
		line->deltas[cursor->position] == PILOTLIGHT_UNWIND_DELTA_UNUSED) {
		cursor->position = 0;
		cursor->line++;
	}
	return true;
}
