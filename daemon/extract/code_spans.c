/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/code_spans.h"

#include "extract/scratch_sort.h"

#include <assert.h>

int code_spans_init(struct code_spans *spans, struct scratch *scratch, size_t entry_bytes)
{
	int r;

	assert(entry_bytes > 0 && entry_bytes % sizeof(uint32_t) == 0);
	*spans = (struct code_spans){ 0 };
	r = scratch_array_init(&spans->spans, scratch, sizeof(struct code_span), UINT32_MAX);
	if (r == 0)
		r = scratch_array_init(&spans->entries, scratch, entry_bytes, UINT32_MAX);
	if (r < 0)
		code_spans_done(spans);
	return r;
}

void code_spans_done(struct code_spans *spans)
{
	scratch_array_done(&spans->spans);
	scratch_array_done(&spans->entries);
}

int code_spans_add(
	struct code_spans *spans, uint32_t start, uint32_t end, uint32_t first, uint32_t owner)
{
	int r = scratch_array_grow(&spans->spans);

	if (r < 0)
		return r;
	assert(start < end && first < spans->entries.count);
	((struct code_span *)spans->spans.items)[spans->spans.count++] = (struct code_span){
		.start = start,
		.end = end,
		.first = first,
		.count = (uint32_t)spans->entries.count - first,
		.owner = owner,
	};
	return 0;
}

static uint64_t start_of(const void *item)
{
	return ((const struct code_span *)item)->start;
}

int code_spans_sort(struct code_spans *spans)
{
	const scratch_sort_key keys[] = { start_of };

	return scratch_sort(&spans->spans, keys, 1);
}

/* The entries of one span from `start` on. */
static int visit_span(const struct code_spans *spans, const struct code_span *span, uint32_t start,
	code_spans_visit visit, void *context)
{
	const size_t words = spans->entries.item_bytes / sizeof(uint32_t);
	const uint32_t *entry = (const uint32_t *)spans->entries.items + span->first * words;
	const uint32_t *last = entry + (span->count - 1) * words;
	int r;

	for (; entry <= last; entry += words) {
		uint32_t from = *entry > start ? *entry : start;
		uint32_t until = entry < last ? entry[words] : span->end;

		if (from >= until)
			continue;
		r = visit(context, from, until, span, entry);
		if (r < 0)
			return r;
	}
	return 0;
}

int code_spans_each(const struct code_spans *spans, code_spans_visit visit, void *context)
{
	const struct code_span *all = spans->spans.items;
	uint32_t done = 0;
	int r;

	for (size_t i = 0; i < spans->spans.count; i++) {
		if (all[i].end <= done)
			continue;
		r = visit_span(
			spans, &all[i], all[i].start > done ? all[i].start : done, visit, context);
		if (r < 0)
			return r;
		done = all[i].end;
	}
	return 0;
}
