/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/function_flattener.h"

#include "base/scratch.h"
#include "pilotlight/symbol_file.h"

#include <stdbool.h>
#include <stddef.h>

enum { INSERTION_MOVES_MAX = 16 }; /* a range */

struct frame_range {
	uint32_t start, end; /* [start, end) */
	uint32_t frame;
};

int function_flattener_init(struct function_flattener *flattener, struct scratch *scratch)
{
	int r = scratch_array_init(
		&flattener->ranges, scratch, sizeof(struct frame_range), UINT32_MAX);

	if (r < 0)
		return r;
	r = scratch_array_init(&flattener->active, scratch, sizeof(struct frame_range), UINT32_MAX);
	if (r < 0)
		scratch_array_done(&flattener->ranges);
	return r;
}

void function_flattener_done(struct function_flattener *flattener)
{
	scratch_array_done(&flattener->ranges);
	scratch_array_done(&flattener->active);
}

int function_flattener_add(
	struct function_flattener *flattener, uint32_t start, uint32_t end, uint32_t frame)
{
	const struct frame_range range = { .start = start, .end = end, .frame = frame };

	return scratch_array_append(&flattener->ranges, &range, sizeof(range));
}

/*
 * Debug information lists ranges nearly in order. Returns false if they are too far out of order.
 */
static bool sort_by_insertion(struct frame_range *ranges, size_t count)
{
	size_t moves = 0;

	for (size_t i = 1; i < count; i++) {
		const struct frame_range range = ranges[i];
		size_t j = i;

		for (; j > 0 && ranges[j - 1].start > range.start; j--)
			ranges[j] = ranges[j - 1];
		ranges[j] = range;
		moves += i - j;
		if (moves > INSERTION_MOVES_MAX * count)
			return false;
	}
	return true;
}

static uint64_t start_key(const void *item)
{
	return ((const struct frame_range *)item)->start;
}

static int sort(struct scratch_array *ranges)
{
	static const scratch_sort_key keys[] = { start_key };

	return sort_by_insertion(ranges->items, ranges->count) ? 0 : scratch_sort(ranges, keys, 1);
}

struct sweep {
	struct scratch_array *active;
	struct code_spans *functions;
	uint32_t root;
	uint32_t start, end; /* of the open span */
	uint32_t position;   /* its boundaries are complete before this offset */
	uint32_t first;	     /* its first boundary */
	uint32_t last_frame;
	bool is_open;
};

static int add_boundary(struct sweep *sweep, uint32_t frame)
{
	const struct pilotlight_symbol_boundary boundary = {
		.offset = sweep->position,
		.frame = frame,
	};

	if (sweep->last_frame == frame)
		return 0;
	sweep->last_frame = frame;
	return scratch_array_append(&sweep->functions->entries, &boundary, sizeof(boundary));
}

/* Calls nest: the range that begins last has the greatest frame in nearly all cases. */
static int activate(struct scratch_array *active, const struct frame_range *range)
{
	struct frame_range *ranges = active->items;
	size_t i = active->count;
	int r = scratch_array_grow(active);

	if (r < 0)
		return r;
	active->count++;
	for (; i > 0 && ranges[i - 1].frame > range->frame; i--)
		ranges[i] = ranges[i - 1];
	ranges[i] = *range;
	return 0;
}

/* Returns the active range with the greatest frame that ends after `offset`; or NULL. */
static const struct frame_range *find_innermost(struct scratch_array *active, uint32_t offset)
{
	const struct frame_range *ranges = active->items;

	while (active->count > 0 && ranges[active->count - 1].end <= offset)
		active->count--;
	return active->count > 0 ? &ranges[active->count - 1] : NULL;
}

/* Adds the boundaries before `until`; all ranges that begin before it are active. */
static int advance(struct sweep *sweep, uint32_t until)
{
	if (until > sweep->end)
		until = sweep->end;
	while (sweep->position < until) {
		const struct frame_range *top = find_innermost(sweep->active, sweep->position);
		uint32_t end = top && top->end < until ? top->end : until;
		int r = add_boundary(sweep, top ? top->frame : sweep->root);

		if (r < 0)
			return r;
		sweep->position = end;
	}
	return 0;
}

static int close_span(struct sweep *sweep)
{
	if (!sweep->is_open)
		return 0;
	sweep->is_open = false;
	return code_spans_add(
		sweep->functions, sweep->start, sweep->end, sweep->first, sweep->root);
}

static void open_span(struct sweep *sweep, const struct frame_range *range)
{
	sweep->is_open = true;
	sweep->start = range->start;
	sweep->position = range->start;
	sweep->end = range->end;
	sweep->first = (uint32_t)sweep->functions->entries.count;
	sweep->last_frame = 0;
}

static int visit_range(struct sweep *sweep, const struct frame_range *range)
{
	int r = 0;

	if (sweep->is_open)
		r = advance(sweep, range->start);
	if (r < 0)
		return r;
	if (range->frame != sweep->root)
		return activate(sweep->active, range);
	if (sweep->is_open && range->start <= sweep->end) {
		if (range->end > sweep->end)
			sweep->end = range->end;
		return 0;
	}
	r = close_span(sweep);
	if (r == 0)
		open_span(sweep, range);
	return r;
}

int function_flattener_flush(
	struct function_flattener *flattener, uint32_t root, struct code_spans *functions)
{
	struct sweep sweep = { .active = &flattener->active, .functions = functions, .root = root };
	int r = sort(&flattener->ranges);
	const struct frame_range *ranges = flattener->ranges.items;

	flattener->active.count = 0;
	for (size_t i = 0; r == 0 && i < flattener->ranges.count; i++)
		r = visit_range(&sweep, &ranges[i]);
	if (r == 0 && sweep.is_open)
		r = advance(&sweep, sweep.end);
	if (r == 0)
		r = close_span(&sweep);
	flattener->ranges.count = 0;
	return r;
}
