/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * unwind_oracle_rows BINARY [DEBUG]: makes an unwind table in this process and prints it for
 * unwind_oracle.py. Fails if a lookup by pages and lines, as in the sampler, finds another row.
 */
#include "extract/unwind_extraction.h"
#include "pilotlight/unwind.h"

#include "base/cleanup.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

struct table {
	const uint8_t *bytes;
	const struct pilotlight_unwind_summary *summary;
	const uint32_t *pages;
	const struct pilotlight_unwind_line *lines;
	const struct pilotlight_unwind_rule *rules;
	const struct pilotlight_unwind_escape *escapes;
};

struct row {
	uint32_t offset, rule;
};

static const void *find_section(const struct table *table, uint32_t id, uint64_t *ret_count)
{
	const struct pilotlight_symbol_header *header = (const void *)table->bytes;
	const struct pilotlight_symbol_section *sections = (const void *)(header + 1);

	for (size_t i = 0; i < header->section_count; i++) {
		if (sections[i].id != id)
			continue;
		if (ret_count)
			*ret_count = sections[i].bytes / sections[i].entry_bytes;
		return table->bytes + sections[i].offset;
	}
	if (ret_count)
		*ret_count = 0;
	return NULL;
}

static uint32_t find_escape(const struct table *table, uint32_t row)
{
	uint32_t low = 0, high = table->summary->escape_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (table->escapes[middle].row < row)
			low = middle + 1;
		else
			high = middle;
	}
	return table->escapes[low].rule;
}

/* Looks up a row as pilotlight/unwind.h describes; returns false if there is none. */
static bool look_up(const struct table *table, uint32_t offset, struct row *ret_row)
{
	const struct pilotlight_unwind_summary *summary = table->summary;
	uint32_t page = offset >> PILOTLIGHT_UNWIND_PAGE_SHIFT;
	const struct pilotlight_unwind_line *line;
	uint32_t low, high, position = 0;

	if (page < summary->first_page || page - summary->first_page >= summary->page_count)
		return false;
	low = table->pages[page - summary->first_page];
	high = table->pages[page - summary->first_page + 1];
	while (low < high) {
		uint32_t middle = low + (high - low + 1) / 2;

		if (table->lines[middle].base <= offset)
			low = middle;
		else
			high = middle - 1;
	}
	line = &table->lines[low];
	if (line->base > offset)
		return false;
	for (uint32_t i = 1; i < PILOTLIGHT_UNWIND_LINE_ROWS; i++)
		position += line->deltas[i] != PILOTLIGHT_UNWIND_DELTA_UNUSED &&
			    line->base + line->deltas[i] <= offset;
	ret_row->offset = line->base + line->deltas[position];
	ret_row->rule = line->rules[position];
	if (ret_row->rule == PILOTLIGHT_UNWIND_ESCAPE)
		ret_row->rule = find_escape(table, low * PILOTLIGHT_UNWIND_LINE_ROWS + position);
	return true;
}

static bool is_found(const struct table *table, uint32_t offset, const struct row *expected)
{
	struct row found;

	if (look_up(table, offset, &found) && found.offset == expected->offset &&
		found.rule == expected->rule)
		return true;
	(void)fprintf(stderr, "the row of %#" PRIx32 " is not found\n", offset);
	return false;
}

static void print_row(const struct table *table, const struct row *row)
{
	const struct pilotlight_unwind_rule *rule = &table->rules[row->rule];

	printf("row %" PRIu32 " %d %d %d %d %d %d %d\n", row->offset, rule->kind, rule->base,
		rule->offset, rule->addend, rule->frame_pointer, rule->frame_pointer_offset,
		rule->return_address_offset);
}

/* Prints each row in order, and checks that lookups of its first and last byte find it. */
static bool print_rows(const struct table *table)
{
	struct row last = { 0 };
	uint32_t count = 0;

	for (uint32_t i = 0; i < table->summary->line_count; i++) {
		const struct pilotlight_unwind_line *line = &table->lines[i];

		for (uint32_t k = 0; k < PILOTLIGHT_UNWIND_LINE_ROWS; k++) {
			struct row row = { .offset = line->base + line->deltas[k],
				.rule = line->rules[k] };

			if (line->deltas[k] == PILOTLIGHT_UNWIND_DELTA_UNUSED)
				break;
			if (row.rule == PILOTLIGHT_UNWIND_ESCAPE)
				row.rule = find_escape(table, i * PILOTLIGHT_UNWIND_LINE_ROWS + k);
			if (count > 0 && (row.offset <= last.offset ||
						 !is_found(table, row.offset - 1, &last)))
				return false;
			if (!is_found(table, row.offset, &row))
				return false;
			print_row(table, &row);
			last = row;
			count++;
		}
	}
	return count == table->summary->row_count;
}

static void print_head(const struct table *table, const struct pilotlight_symbol_report *report)
{
	const struct pilotlight_unwind_summary *summary = table->summary;
	const struct pilotlight_symbol_segment *segments;
	uint64_t count;

	segments = find_section(table, PILOTLIGHT_SYMBOL_SEGMENTS, &count);
	for (uint64_t i = 0; i < count; i++)
		printf("segment %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", segments[i].offset,
			segments[i].vaddr, segments[i].file_bytes);
	printf("summary machine=%u rows=%u lines=%u pages=%u rules=%u escapes=%u unsupported=%u "
	       "functions=%u failed=%u flags=%u rank=%u bytes=%" PRIu64 " cpu_us=%" PRIu64
	       " scratch=%" PRIu64 "\n",
		summary->machine, summary->row_count, summary->line_count, summary->page_count,
		summary->rule_count, summary->escape_count, summary->unsupported_rows,
		summary->function_count, summary->functions_failed, summary->flags, report->rank,
		report->output_bytes, report->cpu_ns / 1000, report->scratch_bytes);
}

static int print_table(int fd, const struct pilotlight_symbol_report *report)
{
	struct table table;
	struct stat status;

	if (fstat(fd, &status) < 0)
		return 1;
	table.bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (table.bytes == MAP_FAILED)
		return 1;
	table.summary = find_section(&table, PILOTLIGHT_SYMBOL_UNWIND, NULL);
	table.pages = find_section(&table, PILOTLIGHT_SYMBOL_UNWIND_PAGES, NULL);
	table.lines = find_section(&table, PILOTLIGHT_SYMBOL_UNWIND_LINES, NULL);
	table.rules = find_section(&table, PILOTLIGHT_SYMBOL_UNWIND_RULES, NULL);
	table.escapes = find_section(&table, PILOTLIGHT_SYMBOL_UNWIND_ESCAPES, NULL);
	print_head(&table, report);
	return print_rows(&table) ? 0 : 1;
}

int main(int argc, char **argv)
{
	_cleanup_close_ int binary = argc > 1 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;
	_cleanup_close_ int debug = argc > 2 ? open(argv[2], O_RDONLY | O_CLOEXEC) : -1;
	_cleanup_close_ int scratch = memfd_create("scratch", MFD_CLOEXEC);
	_cleanup_close_ int output = memfd_create("output", MFD_CLOEXEC);
	const struct extraction_files files = {
		.binary_fd = binary,
		.debug_fd = debug,
		.alternate_fd = -1,
		.scratch_fd = scratch,
		.output_fd = output,
	};
	const struct pilotlight_symbol_request request = {
		.version = PILOTLIGHT_WORKER_VERSION,
		.identity_kind = PILOTLIGHT_SYMBOL_BUILD_ID,
		.identity = { 1 },
		.identity_bytes = 20,
		.debug_rank = PILOTLIGHT_SYMBOL_RANK_DEBUG_FILE,
		.scratch_bytes_max = 1 << 30,
	};
	struct pilotlight_symbol_report report;
	int r;

	if (binary < 0 || (argc > 2 && debug < 0) || scratch < 0 || output < 0) {
		(void)fprintf(stderr, "usage: unwind_oracle_rows BINARY [DEBUG]\n");
		return 2;
	}
	r = unwind_extraction_run(&files, &request, &report);
	if (r < 0) {
		(void)fprintf(stderr, "no table: %s\n", strerror(-r));
		return 1;
	}
	return print_table(output, &report);
}
