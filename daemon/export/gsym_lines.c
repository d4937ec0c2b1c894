/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/gsym_lines.h"

enum {
	OP_END = 0,
	OP_SET_FILE = 1,
	OP_ADVANCE_PC = 2, /* and a line */
	OP_ADVANCE_LINE = 3,
	OP_FIRST_SPECIAL = 4, /* advances both, and a line */
	OP_LAST_SPECIAL = 255,

	/* Nearly all steps between lines are among these. */
	LINE_DELTA_MIN = -4,
	LINE_DELTA_MAX = 10,
	LINE_DELTAS = LINE_DELTA_MAX - LINE_DELTA_MIN + 1,

	FIRST_FILE = 1, /* what the machine begins with */
};

static uint64_t row_place(const struct pilotlight_symbol_row *row)
{
	return (uint64_t)row->place_high << 32 | row->place_low;
}

struct gsym_rows gsym_lines_find(
	const struct gsym_tables *tables, const struct gsym_range *range, size_t row)
{
	const struct pilotlight_symbol_row *rows = symbol_file_rows(tables->file);
	struct gsym_rows found = { .row = row };

	while (found.row + 1 < tables->row_count && rows[found.row + 1].offset <= range->start)
		found.row++;
	found.row_end = found.row;
	while (found.row_end < tables->row_count && rows[found.row_end].offset < range->end)
		found.has_lines |= row_place(&rows[found.row_end++]) != 0;
	return found;
}

static void encode_step(struct gsym_bytes *bytes, uint32_t address_delta, int64_t line_delta)
{
	if (line_delta >= LINE_DELTA_MIN && line_delta <= LINE_DELTA_MAX) {
		uint64_t op = OP_FIRST_SPECIAL + (uint64_t)(line_delta - LINE_DELTA_MIN) +
			      (uint64_t)address_delta * LINE_DELTAS;

		if (op <= OP_LAST_SPECIAL) {
			gsym_bytes_u8(bytes, (uint8_t)op);
			return;
		}
	}
	if (line_delta != 0) {
		gsym_bytes_u8(bytes, OP_ADVANCE_LINE);
		gsym_bytes_sleb(bytes, line_delta);
	}
	gsym_bytes_u8(bytes, OP_ADVANCE_PC);
	gsym_bytes_uleb(bytes, address_delta);
}

static void encode_file(struct gsym_bytes *bytes, uint32_t file)
{
	gsym_bytes_u8(bytes, OP_SET_FILE);
	gsym_bytes_uleb(bytes, file);
}

void gsym_lines_encode(struct gsym_bytes *bytes, const struct gsym_tables *tables,
	const struct gsym_range *range, const struct gsym_rows *rows)
{
	const struct pilotlight_symbol_row *all = symbol_file_rows(tables->file);
	struct gsym_line line = gsym_tables_line(tables, 0);
	uint32_t offset = range->start;
	size_t i = rows->row;

	if (i < rows->row_end && all[i].offset <= range->start)
		line = gsym_tables_line(tables, row_place(&all[i++]));
	gsym_bytes_sleb(bytes, LINE_DELTA_MIN);
	gsym_bytes_sleb(bytes, LINE_DELTA_MAX);
	gsym_bytes_uleb(bytes, line.line);
	if (line.file != FIRST_FILE)
		encode_file(bytes, line.file);
	encode_step(bytes, 0, 0);

	for (; i < rows->row_end; i++) {
		struct gsym_line next = gsym_tables_line(tables, row_place(&all[i]));

		if (next.file == line.file && next.line == line.line)
			continue;
		if (next.file != line.file)
			encode_file(bytes, next.file);
		encode_step(bytes, all[i].offset - offset, (int64_t)next.line - line.line);
		line = next;
		offset = all[i].offset;
	}
	gsym_bytes_u8(bytes, OP_END);
}
