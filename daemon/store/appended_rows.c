/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/appended_rows.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "store/times_blob.h"
#include "store/window_blob.h"

#include <errno.h>
#include <stdlib.h>

struct writing {
	const struct profile *profile;
	struct window_writer window;
	struct times_writer times;
	struct row_times row_times;
	struct row_spans row_spans;
	uint64_t timed; /* samples */
};

static int compare_rows(const void *a, const void *b)
{
	const struct appended_row *first = a, *second = b;

	if (first->thread != second->thread)
		return first->thread < second->thread ? -1 : 1;
	return (first->node > second->node) - (first->node < second->node);
}

static int collect_times(struct writing *writing, uint32_t sample)
{
	const struct profile *profile = writing->profile;
	int r = 0;

	if (sample >= profile->last_times.count)
		return 0;
	for (uint32_t at = profile->last_times.items[sample]; r == 0 && at > 0;
		at = profile->times.items[at - 1].before) {
		const struct profile_time *time = &profile->times.items[at - 1];

		r = row_times_add(&writing->row_times, time->slice, time->count);
		writing->timed += time->count;
	}
	return r;
}

static int collect_spans(struct writing *writing, uint32_t sample)
{
	const struct profile_spans *known = &writing->profile->spans;
	const struct profile_span_count *count = NULL;
	struct row_spans *spans = &writing->row_spans;
	int r = 0;

	while (r == 0 && (count = profile_spans_next(known, sample, count))) {
		r = ARRAY_RESERVE(
			spans->items, &spans->capacity, spans->count + 1, COLUMN_BLOB_PLAIN_MAX);
		if (r == 0)
			spans->items[spans->count++] =
				(struct row_span){ .count = count->count, .span = count->span };
	}
	return r;
}

/* Samples over quota may have become one row. */
static int write_rows(struct writing *writing, const struct appended_rows *rows)
{
	const struct profile_sample *samples = writing->profile->samples.items;
	int r = 0;

	for (size_t i = 0, next; r == 0 && i < rows->count; i = next) {
		const struct appended_row *first = &rows->items[i];
		struct window_row row = { .thread = first->thread, .node = first->node };

		writing->row_times.count = writing->row_spans.count = 0;
		for (next = i; r == 0 && next < rows->count &&
			       compare_rows(first, &rows->items[next]) == 0;
			next++) {
			row.count += samples[rows->items[next].sample].count;
			r = collect_times(writing, rows->items[next].sample);
			if (r == 0)
				r = collect_spans(writing, rows->items[next].sample);
		}
		window_writer_add(&writing->window, &row);
		times_writer_add(&writing->times, &row, &writing->row_times);
		if (writing->profile->spans.count > 0)
			times_writer_add_spans(&writing->times, &writing->row_spans);
	}
	return r;
}

int appended_rows_write(struct appended_rows *rows, const struct profile *profile, int level,
	struct appended_blobs *ret_blobs)
{
	_cleanup_(appended_blobs_done) struct appended_blobs blobs = { 0 };
	struct writing writing = { .profile = profile };
	int r;

	if (rows->count > 0)
		qsort(rows->items, rows->count, sizeof(*rows->items), compare_rows);
	window_writer_init(&writing.window);
	times_writer_init(&writing.times, PROFILE_SLICE_NS);
	if (profile->spans.count > 0)
		times_writer_set_spans(&writing.times, profile->spans.items, profile->spans.count);
	r = write_rows(&writing, rows);
	if (r == 0)
		r = window_writer_finish(&writing.window, level, &blobs.body, &blobs.body_size);
	if (r == 0)
		r = times_writer_finish(&writing.times, level, &blobs.times, &blobs.times_size);
	if (r == -E2BIG && blobs.body) { /* better without times than not at all */
		blobs.untimed = writing.timed;
		r = 0;
	}
	blobs.samples = writing.window.samples;
	window_writer_done(&writing.window);
	times_writer_done(&writing.times);
	free(writing.row_times.items);
	free(writing.row_spans.items);
	if (r < 0)
		return r;
	*ret_blobs = blobs;
	blobs = (struct appended_blobs){ 0 };
	return 0;
}

void appended_blobs_done(struct appended_blobs *blobs)
{
	free(blobs->body);
	free(blobs->times);
	*blobs = (struct appended_blobs){ 0 };
}
