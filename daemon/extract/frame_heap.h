/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Ranges of code that have begun, of which the one with the greatest frame is asked for: a binary
 * heap, so that ranges that cross each other cost no more than a logarithm. All memory is scratch.
 */
#pragma once

#include "base/scratch.h"

#include <stdint.h>

struct frame_range {
	uint32_t start, end; /* [start, end) */
	uint32_t frame;
};

struct frame_heap {
	struct scratch_array ranges;
};

/* Returns 0 or -ENOMEM. */
int frame_heap_init(struct frame_heap *heap, struct scratch *scratch);
void frame_heap_done(struct frame_heap *heap);

void frame_heap_clear(struct frame_heap *heap);

/* Errors of scratch_array_reserve(). */
int frame_heap_add(struct frame_heap *heap, const struct frame_range *range);

/* Of those that end behind `offset` the one of the greatest frame, borrowed until the next call; or
 * NULL. Forgets ranges on the way: offsets must not become less. */
const struct frame_range *frame_heap_top(struct frame_heap *heap, uint32_t offset);
