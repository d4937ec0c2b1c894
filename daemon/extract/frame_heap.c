/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/frame_heap.h"

#include <stddef.h>

int frame_heap_init(struct frame_heap *heap, struct scratch *scratch)
{
	return scratch_array_init(&heap->ranges, scratch, sizeof(struct frame_range), UINT32_MAX);
}

void frame_heap_done(struct frame_heap *heap)
{
	scratch_array_done(&heap->ranges);
}

void frame_heap_clear(struct frame_heap *heap)
{
	heap->ranges.count = 0;
}

int frame_heap_add(struct frame_heap *heap, const struct frame_range *range)
{
	struct frame_range *ranges;
	size_t i = heap->ranges.count;
	int r = scratch_array_grow(&heap->ranges);

	if (r < 0)
		return r;
	heap->ranges.count++;
	ranges = heap->ranges.items;
	for (; i > 0 && ranges[(i - 1) / 2].frame < range->frame; i = (i - 1) / 2)
		ranges[i] = ranges[(i - 1) / 2];
	ranges[i] = *range;
	return 0;
}

static void remove_top(struct frame_heap *heap)
{
	struct frame_range *ranges = heap->ranges.items;
	size_t count = --heap->ranges.count;
	const struct frame_range last = ranges[count];
	size_t i = 0;

	for (;;) {
		size_t child = 2 * i + 1;

		if (child >= count)
			break;
		if (child + 1 < count && ranges[child + 1].frame > ranges[child].frame)
			child++;
		if (ranges[child].frame <= last.frame)
			break;
		ranges[i] = ranges[child];
		i = child;
	}
	ranges[i] = last;
}

const struct frame_range *frame_heap_top(struct frame_heap *heap, uint32_t offset)
{
	const struct frame_range *top = heap->ranges.items;

	while (heap->ranges.count > 0 && top->end <= offset)
		remove_top(heap);
	return heap->ranges.count > 0 ? top : NULL;
}
