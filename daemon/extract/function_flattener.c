/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/function_flattener.h"

#include "pilotlight/symbol_file.h"

#include <stdbool.h>
#include <stddef.h>

/* By range. Functions are told nearly in order, and then this many moves are more than enough. */
enum { INSERTION_MOVES_MAX = 16 };

int function_flattener_init(struct function_flattener *flattener, struct scratch *scratch)
{
	int r = scratch_array_init(
		&flattener->ranges, scratch, sizeof(struct frame_range), UINT32_MAX);

	if (r < 0)
		return r;
	r = frame_heap_init(&flattener->active, scratch);
	if (r < 0)
		scratch_array_done(&flattener->ranges);
	return r;
}

void function_flattener_done(struct function_flattener *flattener)
{
	scratch_array_done(&flattener->ranges);
	frame_heap_done(&flattener->active);
}

int function_flattener_add(
	struct function_flattener *flattener, uint32_t start, uint32_t end, uint32_t frame)
{
	struct scratch_array *ranges = &flattener->ranges;
	int r = scratch_array_grow(ranges);

	if (r < 0)
		return r;
	((struct frame_range *)ranges->items)[ranges->count++] =
		(struct frame_range){ .start = start, .end = end, .frame = frame };
	return 0;
}

/* Returns false where they are so much out of order that it would take long. */
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

static void sift_down(struct frame_range *ranges, size_t i, size_t count)
{
	const struct frame_range range = ranges[i];

	for (;;) {
		size_t child = 2 * i + 1;

		if (child >= count)
			break;
		if (child + 1 < count && ranges[child + 1].start > ranges[child].start)
			child++;
		if (ranges[child].start <= range.start)
			break;
		ranges[i] = ranges[child];
		i = child;
	}
	ranges[i] = range;
}

/* By start, in place and with a known worst case: qsort() has neither. */
static void sort(struct frame_range *ranges, size_t count)
{
	if (sort_by_insertion(ranges, count))
		return;
	for (size_t i = count / 2; i-- > 0;)
		sift_down(ranges, i, count);
	for (size_t last = count - 1; last > 0; last--) {
		const struct frame_range greatest = ranges[0];

		ranges[0] = ranges[last];
		ranges[last] = greatest;
		sift_down(ranges, 0, last);
	}
}

struct sweep {
	struct frame_heap *active;
	struct code_spans *functions;
	uint32_t root;
	uint32_t position; /* up to where boundaries are made, in the span that is open */
	uint32_t start, end;
	uint32_t first; /* of the span's boundaries */
	uint32_t last_frame;
	bool is_open;
};

static int add_boundary(struct sweep *sweep, uint32_t frame)
{
	struct scratch_array *boundaries = &sweep->functions->entries;
	int r;

	if (sweep->last_frame == frame)
		return 0;
	r = scratch_array_grow(boundaries);
	if (r < 0)
		return r;
	((struct pilotlight_symbol_boundary *)boundaries->items)[boundaries->count++] =
		(struct pilotlight_symbol_boundary){ .offset = sweep->position, .frame = frame };
	sweep->last_frame = frame;
	return 0;
}

/* All that begins before `until` is active. */
static int advance(struct sweep *sweep, uint32_t until)
{
	if (until > sweep->end)
		until = sweep->end;
	while (sweep->position < until) {
		const struct frame_range *top = frame_heap_top(sweep->active, sweep->position);
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

static int take_range(struct sweep *sweep, const struct frame_range *range)
{
	int r = 0;

	if (sweep->is_open)
		r = advance(sweep, range->start);
	if (r < 0)
		return r;
	if (range->frame != sweep->root)
		return frame_heap_add(sweep->active, range);
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
	const struct frame_range *ranges = flattener->ranges.items;
	size_t count = flattener->ranges.count;
	struct sweep sweep = { .active = &flattener->active, .functions = functions, .root = root };
	int r = 0;

	frame_heap_clear(&flattener->active);
	sort(flattener->ranges.items, count);
	for (size_t i = 0; r == 0 && i < count; i++)
		r = take_range(&sweep, &ranges[i]);
	if (r == 0 && sweep.is_open)
		r = advance(&sweep, sweep.end);
	if (r == 0)
		r = close_span(&sweep);
	flattener->ranges.count = 0;
	return r;
}
