/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unwind/unwind_table.h"

#include "symbol/symbol_file.h"

#include <elf.h>
#include <errno.h>

static uint64_t page_start(const struct pilotlight_unwind_summary *summary, uint32_t page)
{
	return ((uint64_t)summary->first_page + page) << PILOTLIGHT_UNWIND_PAGE_SHIFT;
}

static bool is_summary_sound(const struct pilotlight_unwind_summary *summary)
{
	if (summary->page_count > PILOTLIGHT_UNWIND_PAGES_MAX ||
		summary->first_page > PILOTLIGHT_UNWIND_PAGES_MAX - summary->page_count)
		return false;
	if (summary->line_count > PILOTLIGHT_UNWIND_LINES_MAX ||
		summary->rule_count > PILOTLIGHT_UNWIND_RULES_MAX ||
		summary->escape_count > PILOTLIGHT_UNWIND_ESCAPES_MAX)
		return false;
	return (summary->page_count == 0) == (summary->line_count == 0) &&
	       summary->unsupported_rows <= summary->row_count &&
	       summary->inferred_rows <= summary->row_count &&
	       (summary->machine == EM_X86_64 || summary->machine == EM_AARCH64);
}

static bool are_rules_sound(const struct unwind_table *table)
{
	for (uint32_t i = 0; i < table->summary->rule_count; i++)
		if (table->rules[i].kind >= PILOTLIGHT_UNWIND_KINDS ||
			table->rules[i].frame_pointer >= PILOTLIGHT_UNWIND_FPS)
			return false;
	return true;
}

/* Returns the number of rows in use; 0 if deltas do not ascend, or an entry follows an unused one.
 */
static uint32_t count_rows(const struct pilotlight_unwind_line *line)
{
	uint32_t used = 1;

	if (line->deltas[0] != 0)
		return 0;
	while (used < PILOTLIGHT_UNWIND_LINE_ROWS &&
		line->deltas[used] != PILOTLIGHT_UNWIND_DELTA_UNUSED) {
		if (line->deltas[used] <= line->deltas[used - 1])
			return 0;
		used++;
	}
	for (uint32_t i = used; i < PILOTLIGHT_UNWIND_LINE_ROWS; i++)
		if (line->deltas[i] != PILOTLIGHT_UNWIND_DELTA_UNUSED)
			return 0;
	return used;
}

/* `escape` is the next one that no row refers to yet. */
static bool are_ids_sound(
	const struct unwind_table *table, uint32_t line, uint32_t used, uint32_t *escape)
{
	const struct pilotlight_unwind_summary *summary = table->summary;

	for (uint32_t i = 0; i < used; i++) {
		uint8_t id = table->lines[line].rules[i];

		if (id != PILOTLIGHT_UNWIND_ESCAPE) {
			if (id >= summary->rule_count)
				return false;
			continue;
		}
		if (*escape == summary->escape_count ||
			table->escapes[*escape].row != line * PILOTLIGHT_UNWIND_LINE_ROWS + i ||
			table->escapes[*escape].rule >= summary->rule_count)
			return false;
		(*escape)++;
	}
	return true;
}

static bool are_lines_sound(const struct unwind_table *table)
{
	const struct pilotlight_unwind_summary *summary = table->summary;
	uint64_t least = page_start(summary, 0);
	uint32_t escape = 0, rows = 0;

	for (uint32_t i = 0; i < summary->line_count; i++) {
		const struct pilotlight_unwind_line *line = &table->lines[i];
		uint32_t used = count_rows(line);

		/* The sampler's search relies on a bound of lines per page. */
		if (used < PILOTLIGHT_UNWIND_LINE_ROWS && i + 1 < summary->line_count &&
			table->lines[i + 1].base - (uint64_t)line->base <=
				PILOTLIGHT_UNWIND_DELTA_MAX)
			return false;
		if (used == 0 || line->base < least || !are_ids_sound(table, i, used, &escape))
			return false;
		rows += used;
		least = (uint64_t)line->base + line->deltas[used - 1] + 1;
	}
	/* The last row may begin where the pages end, and is empty then. */
	if (summary->line_count > 0 &&
		(least - 1 > page_start(summary, summary->page_count) || least - 1 > UINT32_MAX))
		return false;
	return escape == summary->escape_count && rows == summary->row_count;
}

/* The lookup relies on the one right value of each entry. */
static bool are_pages_sound(const struct unwind_table *table)
{
	const struct pilotlight_unwind_summary *summary = table->summary;
	uint32_t line = 0;

	if (summary->page_count == 0)
		return true;
	for (uint32_t i = 0; i <= summary->page_count; i++) {
		uint64_t start = page_start(summary, i);

		while (line + 1 < summary->line_count && table->lines[line + 1].base <= start)
			line++;
		if (table->pages[i] != line)
			return false;
	}
	return true;
}

static bool is_sound(const struct unwind_table *table)
{
	return is_summary_sound(table->summary) && are_rules_sound(table) &&
	       are_lines_sound(table) && are_pages_sound(table);
}

static bool has_counts_of(
	const struct pilotlight_unwind_summary *summary, const struct symbol_file *file)
{
	uint64_t pages = symbol_file_count(file, PILOTLIGHT_SYMBOL_UNWIND_PAGES);

	/* Without pages, the entry at their end may be missing. */
	if (pages != (uint64_t)summary->page_count + 1 && (pages > 0 || summary->page_count > 0))
		return false;
	return symbol_file_count(file, PILOTLIGHT_SYMBOL_UNWIND_LINES) == summary->line_count &&
	       symbol_file_count(file, PILOTLIGHT_SYMBOL_UNWIND_RULES) == summary->rule_count &&
	       symbol_file_count(file, PILOTLIGHT_SYMBOL_UNWIND_ESCAPES) == summary->escape_count;
}

int unwind_table_init(struct unwind_table *ret_table, const struct symbol_file *file)
{
	struct unwind_table table = {
		.summary = symbol_file_entries(file, PILOTLIGHT_SYMBOL_UNWIND),
		.pages = symbol_file_entries(file, PILOTLIGHT_SYMBOL_UNWIND_PAGES),
		.lines = symbol_file_entries(file, PILOTLIGHT_SYMBOL_UNWIND_LINES),
		.rules = symbol_file_entries(file, PILOTLIGHT_SYMBOL_UNWIND_RULES),
		.escapes = symbol_file_entries(file, PILOTLIGHT_SYMBOL_UNWIND_ESCAPES),
	};

	if (!table.summary)
		return -ENODATA;
	if (symbol_file_count(file, PILOTLIGHT_SYMBOL_UNWIND) != 1 ||
		!has_counts_of(table.summary, file) || !is_sound(&table))
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
