/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Small unwind tables: rows are laid out as lines and pages, which may be damaged then, and put
 * into a symbol file.
 *
 *	static struct unwind_table_fixture fixture;
 *
 *	unwind_table_fixture_lay_out(&fixture, rows, count, rule_count);
 *	file = unwind_table_fixture_open(&fixture);
 */
#pragma once

#include "pilotlight/unwind.h"
#include "tests/symbol/symbol_file_fixture.h"

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
	UNWIND_TABLE_FIXTURE_PAGES = 1024,
	UNWIND_TABLE_FIXTURE_LINES = 400,
	UNWIND_TABLE_FIXTURE_RULES = 600,
	UNWIND_TABLE_FIXTURE_ESCAPES = 1500,
};

struct unwind_table_fixture_row {
	uint32_t offset, rule;
};

struct unwind_table_fixture {
	struct pilotlight_unwind_summary summary;
	size_t summary_count;
	uint32_t number; /* in the file's identity */
	/* How many entries each section gets, whatever the summary says. */
	size_t page_count, line_count, rule_count, escape_count;
	uint32_t pages[UNWIND_TABLE_FIXTURE_PAGES];
	struct pilotlight_unwind_line lines[UNWIND_TABLE_FIXTURE_LINES];
	struct pilotlight_unwind_rule rules[UNWIND_TABLE_FIXTURE_RULES];
	struct pilotlight_unwind_escape escapes[UNWIND_TABLE_FIXTURE_ESCAPES];
	struct symbol_file_fixture container;
};

/* Rule i has CFA = 7 + 8 × (i + 1); the first is STOP. */
static inline void unwind_table_fixture_make_rules(
	struct unwind_table_fixture *fixture, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		fixture->rules[i] = (struct pilotlight_unwind_rule){
			.kind = i == 0 ? PILOTLIGHT_UNWIND_STOP : PILOTLIGHT_UNWIND_CFA,
			.base = i == 0 ? 0 : 7,
			.offset = i == 0 ? 0 : 8 * ((int32_t)i + 1),
		};
	fixture->rule_count = count;
}

static inline void unwind_table_fixture_make_pages(struct unwind_table_fixture *fixture)
{
	struct pilotlight_unwind_summary *summary = &fixture->summary;

	for (uint32_t i = 0; i <= summary->page_count; i++) {
		uint64_t start = ((uint64_t)summary->first_page + i)
				 << PILOTLIGHT_UNWIND_PAGE_SHIFT;

		fixture->pages[i] = 0;
		for (uint32_t line = 0; line < fixture->line_count; line++)
			if (fixture->lines[line].base <= start)
				fixture->pages[i] = line;
	}
	fixture->page_count = summary->page_count + 1;
}

/* Puts a row behind the last one; `position` is in the last line. */
static inline void unwind_table_fixture_put(struct unwind_table_fixture *fixture,
	const struct unwind_table_fixture_row *row, size_t *position)
{
	struct pilotlight_unwind_line *line =
		fixture->line_count > 0 ? &fixture->lines[fixture->line_count - 1] : NULL;

	if (!line || *position == PILOTLIGHT_UNWIND_LINE_ROWS ||
		row->offset - line->base > PILOTLIGHT_UNWIND_DELTA_MAX) {
		line = &fixture->lines[fixture->line_count++];
		line->base = row->offset;
		memset(line->deltas, 0xff, sizeof(line->deltas));
		memset(line->rules, 0, sizeof(line->rules));
		*position = 0;
	}
	line->deltas[*position] = (uint16_t)(row->offset - line->base);
	line->rules[*position] = (uint8_t)row->rule;
	if (row->rule >= PILOTLIGHT_UNWIND_ESCAPE) {
		line->rules[*position] = PILOTLIGHT_UNWIND_ESCAPE;
		fixture->escapes[fixture->escape_count++] = (struct pilotlight_unwind_escape){
			.row = (uint32_t)((fixture->line_count - 1) * PILOTLIGHT_UNWIND_LINE_ROWS +
					  *position),
			.rule = row->rule,
		};
	}
	(*position)++;
}

/* `rows` ascend; whether there is room for them is the caller's to know. */
static inline void unwind_table_fixture_lay_out(struct unwind_table_fixture *fixture,
	const struct unwind_table_fixture_row *rows, size_t count, uint32_t rule_count)
{
	size_t position = 0;

	memset(fixture, 0, offsetof(struct unwind_table_fixture, container));
	unwind_table_fixture_make_rules(fixture, rule_count);
	for (size_t i = 0; i < count; i++)
		unwind_table_fixture_put(fixture, &rows[i], &position);
	fixture->summary_count = 1;
	fixture->summary = (struct pilotlight_unwind_summary){
		.line_count = (uint32_t)fixture->line_count,
		.rule_count = rule_count,
		.escape_count = (uint32_t)fixture->escape_count,
		.row_count = (uint32_t)count,
		.machine = EM_X86_64,
	};
	if (count == 0)
		return;
	fixture->summary.first_page = rows[0].offset >> PILOTLIGHT_UNWIND_PAGE_SHIFT;
	fixture->summary.page_count = (rows[count - 1].offset >> PILOTLIGHT_UNWIND_PAGE_SHIFT) -
				      fixture->summary.first_page + 1;
	unwind_table_fixture_make_pages(fixture);
}

/* One function of the number's own in each of some pages, from page 1 on. */
static inline void unwind_table_fixture_make(
	struct unwind_table_fixture *fixture, uint32_t pages, uint32_t number)
{
	struct unwind_table_fixture_row rows[2 * UNWIND_TABLE_FIXTURE_LINES];
	uint32_t count = 0;

	for (uint32_t page = 1; page <= pages && count < 2 * UNWIND_TABLE_FIXTURE_LINES; page++) {
		rows[count].offset = page * 4096 + number % 1000;
		rows[count++].rule = 1 + number % 4;
		rows[count].offset = page * 4096 + 2000;
		rows[count++].rule = 0;
	}
	unwind_table_fixture_lay_out(fixture, rows, count, 5);
	fixture->number = number;
}

/* The container with the sections as they are; as a file, it is whole. */
static inline void unwind_table_fixture_build(struct unwind_table_fixture *fixture)
{
	static const struct pilotlight_symbol_segment segment = { 0, 0x400000, 1 << 20, 1 << 20 };
	struct symbol_file_fixture *container = &fixture->container;
	struct pilotlight_symbol_header *header = symbol_file_fixture_header(container);

	*container = (struct symbol_file_fixture){
		.identity = { 1, 2, (uint8_t)(fixture->number >> 8), (uint8_t)fixture->number, 5 },
		.rank = PILOTLIGHT_SYMBOL_RANK_BINARY,
		.contents = PILOTLIGHT_SYMBOL_HAS_EH_FRAME,
		.origin = "/usr/bin/example",
	};
	symbol_file_fixture_build(container);
	memset(header + 1, 0, SYMBOL_FILE_FIXTURE_BYTES - sizeof(*header));
	header->section_count = 0;
	container->size = sizeof(*header) +
			  SYMBOL_FILE_FIXTURE_SECTIONS * sizeof(struct pilotlight_symbol_section);
	(void)symbol_file_fixture_append(
		container, PILOTLIGHT_SYMBOL_SEGMENTS, sizeof(segment), &segment, 1);
	(void)symbol_file_fixture_append(container, PILOTLIGHT_SYMBOL_UNWIND,
		sizeof(fixture->summary), &fixture->summary, fixture->summary_count);
	(void)symbol_file_fixture_append(container, PILOTLIGHT_SYMBOL_UNWIND_PAGES,
		sizeof(fixture->pages[0]), fixture->pages, fixture->page_count);
	(void)symbol_file_fixture_append(container, PILOTLIGHT_SYMBOL_UNWIND_LINES,
		sizeof(fixture->lines[0]), fixture->lines, fixture->line_count);
	(void)symbol_file_fixture_append(container, PILOTLIGHT_SYMBOL_UNWIND_RULES,
		sizeof(fixture->rules[0]), fixture->rules, fixture->rule_count);
	(void)symbol_file_fixture_append(container, PILOTLIGHT_SYMBOL_UNWIND_ESCAPES,
		sizeof(fixture->escapes[0]), fixture->escapes, fixture->escape_count);
	symbol_file_fixture_finish(container);
}

/* NULL on failure. */
static inline struct symbol_file *unwind_table_fixture_open(struct unwind_table_fixture *fixture)
{
	struct symbol_file *file = NULL;
	int fd;

	unwind_table_fixture_build(fixture);
	fd = symbol_file_fixture_fd(&fixture->container);
	if (fd < 0)
		return NULL;
	(void)symbol_file_open(fd, &file);
	(void)close(fd);
	return file;
}
