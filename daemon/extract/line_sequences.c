/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/line_sequences.h"

int line_sequences_init(
	struct line_sequences *lines, struct scratch *scratch, const struct code_segments *segments)
{
	*lines = (struct line_sequences){ .segments = segments };
	return code_spans_init(&lines->spans, scratch, sizeof(struct pilotlight_symbol_row));
}

void line_sequences_done(struct line_sequences *lines)
{
	code_spans_done(&lines->spans);
}

static void count_outside(struct line_sequences *lines)
{
	if (!lines->is_outside && lines->ranges_outside < UINT32_MAX)
		lines->ranges_outside +=
			!code_segments_is_tombstone(lines->segments, lines->first_vaddr);
	lines->is_outside = true;
}

static void begin(struct line_sequences *lines, uint64_t vaddr)
{
	lines->is_open = true;
	lines->is_outside = false;
	lines->first_vaddr = lines->vaddr = vaddr;
	lines->segment_end = code_segments_end(lines->segments, vaddr);
	lines->start = (uint32_t)(vaddr - lines->segments->base);
	lines->first = (uint32_t)lines->spans.entries.count;
}

static uint64_t place_of(const struct pilotlight_symbol_row *row)
{
	return (uint64_t)row->place_high << 32 | row->place_low;
}

/* In place: a fifth cheaper than scratch_array_append(), and no function is called more often. */
static int append(struct scratch_array *rows, uint32_t offset, uint64_t place)
{
	int r = scratch_array_grow(rows);

	if (r == 0)
		((struct pilotlight_symbol_row *)rows->items)[rows->count++] =
			(struct pilotlight_symbol_row){
				.offset = offset,
				.place_low = (uint32_t)place,
				.place_high = (uint32_t)(place >> 32),
			};
	return r;
}

int line_sequences_add(struct line_sequences *lines, uint64_t vaddr, uint64_t place)
{
	struct scratch_array *rows = &lines->spans.entries;
	uint32_t offset = (uint32_t)(vaddr - lines->segments->base);
	int r;

	if (lines->is_open && vaddr < lines->vaddr) {
		r = line_sequences_end(lines, lines->vaddr);
		if (r < 0)
			return r;
	}
	if (!lines->is_open)
		begin(lines, vaddr);
	lines->vaddr = vaddr;
	if (vaddr >= lines->segment_end)
		count_outside(lines);
	if (lines->is_outside)
		return 0;
	if (rows->count > lines->first &&
		place_of((struct pilotlight_symbol_row *)rows->items + rows->count - 1) == place)
		return 0;
	/* The last of several rows at one offset counts (code_spans_each()). */
	return append(rows, offset, place);
}

int line_sequences_end(struct line_sequences *lines, uint64_t end)
{
	struct scratch_array *rows = &lines->spans.entries;

	if (!lines->is_open)
		return 0;
	lines->is_open = false;
	if (end < lines->vaddr)
		end = lines->vaddr;
	if (end > lines->segment_end) {
		count_outside(lines);
		end = lines->segment_end;
	}
	if (rows->count == lines->first || end - lines->segments->base <= lines->start) {
		rows->count = lines->first;
		return 0;
	}
	return code_spans_add(&lines->spans, lines->start, (uint32_t)(end - lines->segments->base),
		lines->first, 0);
}

struct finish {
	struct scratch_array *rows;
	uint32_t end; /* end of the code with rows */
	uint64_t place;
};

static int add_place(struct finish *finish, uint32_t offset, uint64_t place)
{
	if (place == finish->place)
		return 0;
	finish->place = place;
	return append(finish->rows, offset, place);
}

static int add_row(void *context, uint32_t start, uint32_t end, const struct code_span *span,
	const void *entry)
{
	const struct pilotlight_symbol_row *row = entry;
	struct finish *finish = context;
	int r = 0;

	(void)span;
	if (start > finish->end)
		r = add_place(finish, finish->end, 0);
	if (r == 0)
		r = add_place(finish, start, place_of(row));
	finish->end = end;
	return r;
}

int line_sequences_finish(struct line_sequences *lines, struct scratch_array *rows)
{
	struct finish finish = { .rows = rows };
	int r = line_sequences_end(lines, lines->vaddr);

	if (r == 0)
		r = code_spans_each(&lines->spans, add_row, &finish);
	if (r == 0)
		r = add_place(&finish, finish.end, 0);
	return r;
}
