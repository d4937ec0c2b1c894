/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/code_segments.h"

#include <assert.h>
#include <errno.h>

enum { DISCARDED_BYTES_MAX = 64 * 1024 };

static void insert(struct code_segments *segments, const struct pilotlight_symbol_segment *segment)
{
	size_t i = segments->count++;

	for (; i > 0 && segments->segments[i - 1].vaddr > segment->vaddr; i--)
		segments->segments[i] = segments->segments[i - 1];
	segments->segments[i] = *segment;
}

int code_segments_init(struct code_segments *segments, const struct symbol_builder_code *code)
{
	struct code_segments sorted = { 0 };
	uint64_t last = 0;

	assert(code->segment_count <= SYMBOL_BUILDER_SEGMENTS_MAX);
	for (size_t i = 0; i < code->segment_count; i++) {
		const struct pilotlight_symbol_segment *segment = &code->segments[i];

		if (segment->memory_bytes == 0)
			continue;
		if (segment->memory_bytes > UINT64_MAX - segment->vaddr)
			return -EFBIG;
		if (segment->vaddr + segment->memory_bytes > last)
			last = segment->vaddr + segment->memory_bytes;
		insert(&sorted, segment);
	}
	if (sorted.count == 0)
		return -ENODATA;
	sorted.base = sorted.segments[0].vaddr;
	if (last - sorted.base > UINT32_MAX)
		return -EFBIG;
	sorted.span = (uint32_t)(last - sorted.base);
	*segments = sorted;
	return 0;
}

uint64_t code_segments_end(const struct code_segments *segments, uint64_t vaddr)
{
	for (size_t i = 0; i < segments->count; i++) {
		const struct pilotlight_symbol_segment *segment = &segments->segments[i];

		if (vaddr >= segment->vaddr && vaddr - segment->vaddr < segment->memory_bytes)
			return segment->vaddr + segment->memory_bytes;
	}
	return 0;
}

bool code_segments_is_tombstone(const struct code_segments *segments, uint64_t vaddr)
{
	return (vaddr < DISCARDED_BYTES_MAX && vaddr < segments->base) ||
	       vaddr > UINT64_MAX - DISCARDED_BYTES_MAX ||
	       (vaddr <= UINT32_MAX && vaddr > UINT32_MAX - DISCARDED_BYTES_MAX);
}

bool code_segments_hold(const struct code_segments *segments, uint64_t start, uint64_t end)
{
	return start < end && end <= code_segments_end(segments, start);
}
