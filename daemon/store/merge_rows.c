/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/event_source.h"
#include "store/merge_group.h"
#include "store/store_state.h"
#include "store/times_blob.h"

#include <errno.h>
#include <stdlib.h>

/* A minute keeps times less finely: that saves a seventh of their space. */
#define MERGED_SLICE_NS (2 * PROFILE_SLICE_NS)

struct source {
	struct window_reader reader;
	struct times_reader times_reader;
	struct window_row row;
	uint64_t later; /* the slices by which the window begins after slice 0 of the sum */
	uint64_t per;	/* so many slices are one of the sum */
	bool has_row, has_times;
};

struct merging {
	struct merge_group *group;
	struct source *sources;
	struct row_times times; /* of a row of the sum */
	size_t left;		/* of MERGE_BYTES_MAX */
	bool has_times;		/* of any source */
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
	int r = window_reader_next(&source->reader, &source->row);

	source->has_row = r == 1;
	if (r == 0 && source->has_times)
		return times_reader_finish(&source->times_reader);
	return r < 0 ? r : 0;
}

static bool is_before(const struct window_row *a, const struct window_row *b)
{
	return a->thread != b->thread ? a->thread < b->thread : a->node < b->node;
}

/* A window may lack times, because it is of a time when they were not kept. */
static int open_times(
	struct merging *merging, const struct day_window *window, struct source *source)
{
	const struct merge_group *group = merging->group;
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
	times_reader_skip_spans(&source->times_reader);
	merging->left -= plain_size;
	slice_ns = source->times_reader.slice_ns;
	source->per = MERGED_SLICE_NS / slice_ns;
	source->later = window->start_ns / slice_ns -
			group->merged.start_ns / MERGED_SLICE_NS * source->per;
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
		r = source->has_times ? times_reader_add(&source->times_reader, &source->row,
						source->later, source->per, &merging->times)
				      : 0;
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
	merging->times.count = 0;
	r = sum_row(merging, &row);
	if (r < 0)
		return r;
	*ret_row = row;
	return 1;
}

static void close_sources(struct merging *merging)
{
	for (size_t i = 0; i < merging->group->count; i++) {
		window_reader_done(&merging->sources[i].reader);
		times_reader_done(&merging->sources[i].times_reader);
	}
	free(merging->sources);
	free(merging->times.items);
	merging->sources = NULL;
	merging->times = (struct row_times){ 0 };
}

static int write_rows(struct merging *merging, struct window_writer *writer,
	struct times_writer *times_writer, struct merge_product *product)
{
	struct window_row row;
	int r = open_sources(merging);

	while (r >= 0 && (r = next_row(merging, &row)) == 1) {
		window_writer_add(writer, &row);
		if (merging->has_times)
			times_writer_add(times_writer, &row, &merging->times);
		if (writer->rows > WINDOW_ROWS_MAX ||
			column_writer_bytes(&writer->columns) +
					column_writer_bytes(&times_writer->columns) >
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
