/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/gsym_tables.h"

#include <errno.h>
#include <stdlib.h>

static bool is_sorted(const struct symbol_file *file)
{
	const struct pilotlight_symbol_boundary *boundaries = symbol_file_boundaries(file);
	uint64_t boundary_count = symbol_file_count(file, PILOTLIGHT_SYMBOL_BOUNDARIES);
	const struct pilotlight_symbol_row *rows = symbol_file_rows(file);
	uint64_t row_count = symbol_file_count(file, PILOTLIGHT_SYMBOL_ROWS);

	for (uint64_t i = 1; i < boundary_count; i++)
		if (boundaries[i].offset <= boundaries[i - 1].offset)
			return false;
	for (uint64_t i = 1; i < row_count; i++)
		if (rows[i].offset <= rows[i - 1].offset)
			return false;
	return true;
}

/* Where the last boundary's code ends: segments tell, or else nobody does. */
static uint32_t find_code_end(const struct symbol_file *file)
{
	const struct pilotlight_symbol_segment *segments = symbol_file_segments(file);
	uint64_t count = symbol_file_count(file, PILOTLIGHT_SYMBOL_SEGMENTS);
	uint64_t base = symbol_file_header(file)->base_vaddr;
	uint64_t end = 0;

	for (uint64_t i = 0; i < count; i++) {
		uint64_t segment_end;

		if (segments[i].vaddr < base || __builtin_add_overflow(segments[i].vaddr - base,
							segments[i].memory_bytes, &segment_end))
			continue;
		if (segment_end > end)
			end = segment_end;
	}
	return end == 0 || end > UINT32_MAX ? UINT32_MAX : (uint32_t)end;
}

/* A caller comes before what is inlined into it, so one pass knows all. */
static int fill_frames(struct gsym_tables *tables)
{
	struct gsym_frame *frames = calloc(tables->frame_count + 1, sizeof(*frames));

	if (!frames)
		return -ENOMEM;
	for (uint32_t id = 1; id < tables->frame_count; id++) {
		uint32_t parent = symbol_file_frame_parent(tables->file, id, NULL);
		struct gsym_frame *frame = &frames[id];

		*frame = (struct gsym_frame){ .root = id, .shown = id };
		if (parent == 0)
			continue;
		frame->root = frames[parent].root;
		frame->depth = frames[parent].depth;
		if (frame->depth <= GSYM_DEPTH_MAX)
			frame->depth++;
		if (frame->depth > GSYM_DEPTH_MAX)
			frame->shown = frames[parent].shown;
	}
	tables->frames = frames;
	return 0;
}

int gsym_tables_init(struct gsym_tables *tables, const struct symbol_file *file)
{
	uint64_t strings = symbol_file_count(file, PILOTLIGHT_SYMBOL_STRINGS);
	uint64_t files = symbol_file_count(file, PILOTLIGHT_SYMBOL_FILES);

	*tables = (struct gsym_tables){ .file = file };
	if (!is_sorted(file))
		return -EBADMSG;
	/* One more of each, behind an entry 0 that may be missing. */
	strings = (strings > 0 ? strings : 1) + 1;
	files = (files > 0 ? files : 1) + 1;
	if (strings > UINT32_MAX || files > UINT32_MAX)
		return -EFBIG;
	tables->string_size = (uint32_t)strings;
	tables->file_count = (uint32_t)files;
	tables->frame_count = symbol_file_count(file, PILOTLIGHT_SYMBOL_FRAMES);
	tables->boundary_count = symbol_file_count(file, PILOTLIGHT_SYMBOL_BOUNDARIES);
	tables->row_count = symbol_file_count(file, PILOTLIGHT_SYMBOL_ROWS);
	tables->code_end = find_code_end(file);
	return fill_frames(tables);
}

void gsym_tables_done(struct gsym_tables *tables)
{
	free(tables->frames);
	*tables = (struct gsym_tables){ 0 };
}

uint32_t gsym_tables_boundary_frame(const struct gsym_tables *tables, size_t boundary)
{
	uint32_t frame = symbol_file_boundaries(tables->file)[boundary].frame;

	return frame < tables->frame_count ? tables->frames[frame].shown : 0;
}

static uint32_t root_at(const struct gsym_tables *tables, size_t boundary)
{
	return tables->frames[gsym_tables_boundary_frame(tables, boundary)].root;
}

bool gsym_tables_find_range(
	const struct gsym_tables *tables, size_t boundary, struct gsym_range *ret_range)
{
	const struct pilotlight_symbol_boundary *boundaries = symbol_file_boundaries(tables->file);
	struct gsym_range range = { .boundary = boundary };

	while (range.boundary < tables->boundary_count && root_at(tables, range.boundary) == 0)
		range.boundary++;
	if (range.boundary >= tables->boundary_count)
		return false;
	range.root = root_at(tables, range.boundary);
	range.start = boundaries[range.boundary].offset;
	range.boundary_end = range.boundary + 1;
	while (range.boundary_end < tables->boundary_count &&
		root_at(tables, range.boundary_end) == range.root)
		range.boundary_end++;
	if (range.boundary_end < tables->boundary_count) {
		range.end = boundaries[range.boundary_end].offset;
	} else {
		uint32_t last = boundaries[tables->boundary_count - 1].offset;

		range.end = tables->code_end > last ? tables->code_end : UINT32_MAX;
	}
	if (range.start >= range.end)
		return false;
	*ret_range = range;
	return true;
}

static uint32_t string_or_empty(const struct gsym_tables *tables, uint32_t string)
{
	uint32_t empty = tables->string_size - 1;

	return string > 0 && string < empty ? string : empty;
}

uint32_t gsym_tables_name(const struct gsym_tables *tables, uint32_t frame)
{
	return string_or_empty(tables,
		frame < tables->frame_count ? symbol_file_frames(tables->file)[frame].name : 0);
}

uint32_t gsym_tables_path(const struct gsym_tables *tables, uint32_t file)
{
	bool is_known = file > 0 && file < tables->file_count - 1;

	return string_or_empty(tables, is_known ? symbol_file_paths(tables->file)[file] : 0);
}

struct gsym_line gsym_tables_line(const struct gsym_tables *tables, uint64_t place)
{
	uint32_t file = (uint32_t)(place >> 40);
	uint32_t nameless = tables->file_count - 1;

	if (file == 0 || file >= nameless)
		return (struct gsym_line){ .file = nameless };
	return (struct gsym_line){ file, (uint32_t)(place >> 16) & 0xffffff };
}
