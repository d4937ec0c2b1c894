/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/code_spans.h"

#include "base/scratch.h"

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
	const struct code_span span = {
		.start = start,
		.end = end,
		.first = first,
		.count = (uint32_t)spans->entries.count - first,
		.owner = owner,
	};

	assert(start < end && first < spans->entries.count);
	return scratch_array_append(&spans->spans, &span, sizeof(span));
}

static uint64_t start_of(const void *item)
{
	return ((const struct code_span *)item)->start;
}

/*
 * Sweeps the code once. The open spans, the outermost first, reuse the memory of the first spans,
 * which have been read by then. The last one opened has the code, and all others reach beyond its
 * end.
 */
struct sweep {
	struct code_span *spans;
	const struct scratch_array *entries;
	size_t open_count;
	uint32_t done; /* all code before it was visited */
	code_spans_visit visit;
	void *context;
};

/* Visits the entries of an open span up to `end`, and removes them from the span. */
static int visit_until(struct sweep *sweep, struct code_span *span, uint32_t end)
{
	const size_t words = sweep->entries->item_bytes / sizeof(uint32_t);
	int r;

	for (; span->count > 0; span->first++, span->count--) {
		const uint32_t *entry =
			(const uint32_t *)sweep->entries->items + span->first * words;
		uint32_t next = span->count > 1 ? entry[words] : span->end;
		uint32_t from = *entry > sweep->done ? *entry : sweep->done;
		uint32_t until = next < end ? next : end;

		if (from < until) {
			r = sweep->visit(sweep->context, from, until, span, entry);
			if (r < 0)
				return r;
		}
		if (next > end)
			break;
	}
	sweep->done = end;
	return 0;
}

static int advance(struct sweep *sweep, uint32_t offset)
{
	while (sweep->open_count > 0) {
		struct code_span *span = &sweep->spans[sweep->open_count - 1];
		int r = visit_until(sweep, span, span->end < offset ? span->end : offset);

		if (r < 0)
			return r;
		if (span->end > offset)
			break;
		sweep->open_count--;
	}
	sweep->done = offset;
	return 0;
}

static void open_span(struct sweep *sweep, struct code_span span)
{
	/* Spans that end with it or earlier have no more code. */
	while (sweep->open_count > 0 && sweep->spans[sweep->open_count - 1].end <= span.end)
		sweep->open_count--;
	sweep->spans[sweep->open_count++] = span;
}

/* Of equal beginnings, the span that was added first opens last. */
static void open_reversed(struct sweep *sweep, struct code_span *spans, size_t count)
{
	/* Writes never overtake reads. */
	for (size_t i = 0; i < count / 2; i++) {
		struct code_span span = spans[i];

		spans[i] = spans[count - 1 - i];
		spans[count - 1 - i] = span;
	}
	for (size_t i = 0; i < count; i++)
		open_span(sweep, spans[i]);
}

int code_spans_each(struct code_spans *spans, code_spans_visit visit, void *context)
{
	static const scratch_sort_key keys[] = { start_of };
	size_t count = spans->spans.count;
	struct code_span *all;
	struct sweep sweep = { .entries = &spans->entries, .visit = visit, .context = context };
	int r;

	r = scratch_sort(&spans->spans, keys, 1);
	if (r < 0)
		return r;
	sweep.spans = all = spans->spans.items;
	spans->spans.count = 0;
	for (size_t i = 0, together; i < count; i += together) {
		r = advance(&sweep, all[i].start);
		if (r < 0)
			return r;
		together = 1;
		while (i + together < count && all[i + together].start == all[i].start)
			together++;
		open_reversed(&sweep, all + i, together);
	}
	return advance(&sweep, UINT32_MAX);
}
