/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "aggregate/profile_spans.h"
#include "base/array.h"
#include "base/event_source.h"
#include "store/merge_group.h"
#include "store/store_state.h"
#include "store/times_blob.h"

#include <errno.h>
#include <stdlib.h>

/* A minute keeps times less finely: that saves a seventh of their space. */
#define MERGED_SLICE_NS (2 * PROFILE_SLICE_NS)

enum {
	/* With its entry of 16 bytes in the index, at a mean load. */
	SPAN_BYTES = sizeof(struct pilotlight_thread_context) + 16,
};
#define NO_SPAN UINT32_MAX

struct source {
	struct window_reader reader;
	struct times_reader times_reader;
	struct window_row row;
	bool has_row, has_times;
	uint32_t *spans; /* by the window's: of the sum, or NO_SPAN; NULL: none is kept */
};

struct merging {
	struct merge_group *group;
	struct source *sources;
	struct row_times times;		   /* of a row of the sum */
	struct row_spans spans, row_spans; /* the same, and of a source's row */
	struct profile_spans ids;	   /* the spans of all sources, each once */
	size_t left;			   /* of MERGE_BYTES_MAX */
	bool has_times;			   /* of any source */
};

bool merge_group_is_live(const struct merge_group *group)
{
	return event_source_of(group->merged.event)->is_live;
}

size_t merge_group_first_summed(const struct merge_group *group)
{
	return merge_group_is_live(group) ? group->count - 1 : 0;
}

static int advance(struct source *source)
{
	const bool had_row = source->has_row;
	const uint32_t thread = source->row.thread;
	int r = window_reader_next(&source->reader, &source->row);

	source->has_row = r == 1;
	if (r < 0 || !source->has_times)
		return r < 0 ? r : 0;
	if (!source->has_row)
		return times_reader_finish(&source->times_reader);
	if (had_row && source->row.thread == thread)
		return 0;
	return times_reader_begin_thread(
		&source->times_reader, window_reader_thread_counts(&source->reader, &source->row));
}

static bool is_before(const struct window_row *a, const struct window_row *b)
{
	return a->thread != b->thread ? a->thread < b->thread : a->node < b->node;
}

/*
 * Finds the spans of a source among those of the sum. Those for which there is no room leave, so
 * that requests of one program do not cost the times of all others.
 */
static int open_spans(struct merging *merging, struct source *source)
{
	const struct times_reader *reader = &source->times_reader;
	const size_t bytes = reader->id_count * sizeof(*source->spans);
	int r = 0;

	if (!source->has_times || reader->id_count == 0 || bytes > merging->left)
		return 0;
	merging->left -= bytes;
	source->spans = reallocarray(NULL, reader->id_count, sizeof(*source->spans));
	if (!source->spans)
		return -ENOMEM;
	for (size_t i = 0; r == 0 && i < reader->id_count; i++) {
		source->spans[i] = NO_SPAN;
		if (merging->left < SPAN_BYTES)
			continue;
		merging->left -= SPAN_BYTES;
		r = profile_spans_intern(&merging->ids, &reader->ids[i], &source->spans[i]);
	}
	return r;
}

/* A window may lack times, because it is of a time when they were not kept. */
static int open_times(
	struct merging *merging, const struct day_window *window, struct source *source)
{
	const struct merge_group *group = merging->group;
	struct slice_shift *shift = &source->times_reader.shift;
	size_t size, plain_size;
	uint64_t slice_ns;
	const void *blob;
	int r = day_database_get_times(group->database, window->id, &blob, &size, group->fault);

	if (r < 0 || !blob)
		return r;
	r = column_blob_measure(blob, size, &plain_size);
	if (r == 0 && plain_size > merging->left)
		return -E2BIG;
	if (r == 0)
		r = times_reader_init(&source->times_reader, blob, size);
	if (r < 0)
		return r;
	merging->left -= plain_size;
	if (times_reader_bytes(&source->times_reader) > merging->left)
		return -E2BIG;
	merging->left -= times_reader_bytes(&source->times_reader);
	slice_ns = source->times_reader.slice_ns;
	shift->per = MERGED_SLICE_NS / slice_ns;
	/* The slices by which the window begins after slice 0 of the sum. */
	shift->later =
		window->start_ns / slice_ns - group->merged.start_ns / MERGED_SLICE_NS * shift->per;
	source->has_times =
		MERGED_SLICE_NS % slice_ns == 0 && window->start_ns >= group->merged.start_ns;
	merging->has_times |= source->has_times;
	return 0;
}

static int open_source(
	struct merging *merging, const struct day_window *window, struct source *source)
{
	/* Readers check the ids. */
	int r = merge_group_open_window(
		merging->group, window, UINT32_MAX, &merging->left, &source->reader);

	if (r == 0 && !merging->group->drops_times)
		r = open_times(merging, window, source);
	return r == 0 ? advance(source) : r;
}

static int open_sources(struct merging *merging)
{
	const struct merge_group *group = merging->group;
	int r = 0;

	for (size_t i = merge_group_first_summed(group); r == 0 && i < group->count; i++)
		r = open_source(merging, &group->windows[i], &merging->sources[i]);
	for (size_t i = 0; r == 0 && i < group->count; i++)
		r = open_spans(merging, &merging->sources[i]);
	return r;
}

static int compare_spans(const void *a, const void *b)
{
	const struct row_span *first = a, *second = b;

	return (first->span > second->span) - (first->span < second->span);
}

/* Sorts them and joins those of one span. */
static void join_spans(struct row_spans *spans)
{
	struct row_span *items = spans->items;
	size_t last = 0;

	if (spans->count < 2)
		return;
	qsort(items, spans->count, sizeof(*items), compare_spans);
	for (size_t i = 1; i < spans->count; i++) {
		if (items[i].span == items[last].span)
			items[last].count += items[i].count;
		else
			items[++last] = items[i];
	}
	spans->count = last + 1;
}

/* Reads the times and the spans of a source's row. */
static int sum_times(struct merging *merging, struct source *source)
{
	struct row_spans *sum = &merging->spans, *added = &merging->row_spans;
	int r = times_reader_add(&source->times_reader, &source->row, &merging->times);

	if (r == 0)
		r = times_reader_next_spans(&source->times_reader, &source->row, added);
	if (r == 0)
		r = ARRAY_RESERVE(sum->items, &sum->capacity, sum->count + added->count,
			COLUMN_BLOB_PLAIN_MAX);
	for (size_t i = 0; r == 0 && source->spans && i < added->count; i++) {
		const uint32_t span = source->spans[added->items[i].span];

		if (span != NO_SPAN)
			sum->items[sum->count++] =
				(struct row_span){ .count = added->items[i].count, .span = span };
	}
	return r;
}

/* Adds the row of each source that has it, and advances these. */
static int sum_row(struct merging *merging, struct window_row *row)
{
	for (size_t i = 0; i < merging->group->count; i++) {
		struct source *source = &merging->sources[i];
		int r;

		if (!source->has_row || is_before(row, &source->row))
			continue;
		if (__builtin_add_overflow(row->count, source->row.count, &row->count))
			return -EBADMSG;
		r = source->has_times ? sum_times(merging, source) : 0;
		if (r == 0)
			r = advance(source);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Returns 1 and the next row of all sources, summed, with its times; 0 at the end. */
static int next_row(struct merging *merging, struct window_row *ret_row)
{
	struct window_row row = { 0 };
	bool has_row = false;
	int r;

	for (size_t i = 0; i < merging->group->count; i++) {
		const struct source *source = &merging->sources[i];

		if (source->has_row && (!has_row || is_before(&source->row, &row))) {
			row = source->row;
			has_row = true;
		}
	}
	if (!has_row)
		return 0;
	row.count = 0;
	merging->times.count = merging->spans.count = 0;
	r = sum_row(merging, &row);
	if (r < 0)
		return r;
	join_spans(&merging->spans);
	*ret_row = row;
	return 1;
}

static void close_sources(struct merging *merging)
{
	for (size_t i = 0; i < merging->group->count; i++) {
		window_reader_done(&merging->sources[i].reader);
		times_reader_done(&merging->sources[i].times_reader);
		free(merging->sources[i].spans);
	}
	free(merging->sources);
	free(merging->times.items);
	free(merging->spans.items);
	free(merging->row_spans.items);
	profile_spans_done(&merging->ids);
	*merging = (struct merging){ 0 };
}

static int write_rows(struct merging *merging, struct window_writer *writer,
	struct times_writer *times_writer, struct merge_product *product)
{
	struct window_row row;
	int r = open_sources(merging);

	if (r == 0 && merging->ids.count > 0)
		times_writer_set_spans(times_writer, merging->ids.items, merging->ids.count);
	while (r >= 0 && (r = next_row(merging, &row)) == 1) {
		window_writer_add(writer, &row);
		if (merging->has_times)
			times_writer_add(times_writer, &row, &merging->times);
		if (merging->ids.count > 0)
			times_writer_add_spans(times_writer, &merging->spans);
		if (writer->rows > WINDOW_ROWS_MAX ||
			column_writer_bytes(&writer->columns) + times_writer_bytes(times_writer) >
				MERGE_BYTES_MAX)
			r = -E2BIG;
	}
	/* Compression takes as much memory again. */
	close_sources(merging);
	if (r == 0)
		r = window_writer_finish(
			writer, STORE_MERGE_EFFORT, &product->body, &product->body_size);
	if (r == 0)
		r = times_writer_finish(
			times_writer, STORE_MERGE_EFFORT, &product->times, &product->times_size);
	return r;
}

int merge_rows_make(struct merge_group *group, struct merge_product *product)
{
	struct merging merging = { .group = group, .left = MERGE_BYTES_MAX };
	struct times_writer times_writer;
	struct window_writer writer;
	int r;

	merging.sources = calloc(group->count, sizeof(*merging.sources));
	if (!merging.sources)
		return -ENOMEM;
	window_writer_init(&writer);
	times_writer_init(&times_writer, MERGED_SLICE_NS);
	r = write_rows(&merging, &writer, &times_writer, product);
	group->merged.samples = writer.samples;
	group->merged.body_bytes = product->body_size;
	window_writer_done(&writer);
	times_writer_done(&times_writer);
	return r == -EPROTONOSUPPORT ? -EBADMSG : r;
}
