/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * When the samples of a window were taken, to a slice (PROFILE_SLICE_NS, twice that in minutes of
 * merged windows): a blob beside the
 * window's body (window_blob.h), whose rows it follows in their order. It says nothing without
 * them. Times are dropped before the window is, and a damaged blob costs only the times.
 *
 * Slice 0 of a window is the one in which it begins: slices begin at multiples of their width of
 * CLOCK_REALTIME. Columns of version 3 (column_blob.h):
 *
 *	0  the width of a slice in ns; 3
 *	1  the times of threads, as times_coder.h codes them
 *	2  which of them are which row's
 *
 * Versions 1 and 2 are read for ever, and no longer written. Version 2 has 2 in column 0, and all
 *in column 1. Version 1:
 *
 *	0  the width of a slice in ns; 1 if column 5 is there, else 0
 *	1  per row, its counts without a time
 *	2  per row that has times, the last seven bits of its first slice, and
 *	3  the bits above: of a signed difference, zigzag-coded, to the first slice of the row
 *	   before that has times, 0 for the first one
 *	4  per further time of a row, the distance to the slice before
 *	5  per time, its count - 1; if the column is not there, all counts are 1
 *
 * If some counts are of spans (aggregate/profile_spans.h), all have four columns more:
 *
 *	   the ids of the spans, struct pilotlight_thread_context
 *	   per row, the number of its spans
 *	   per span of a row, its position among the ids
 *	   per span of a row, its count - 1
 *
 * A row has as many times as make up its count, with the counts without a time. A reader streams
 * along the rows, and a writer keeps a few bytes of each, so merging windows merges their times and
 * spans with little memory.
 */
#pragma once

#include "pilotlight/thread_context.h"
#include "store/column_blob.h"
#include "store/row_times.h"
#include "store/times_coder.h"
#include "store/window_blob.h"

#include <stddef.h>
#include <stdint.h>

#define TIMES_SLICE_NS_MAX 1000000000

/* Counts of a row in a span, by its position among all. */
struct row_span {
	uint64_t count;
	uint32_t span;
};

struct row_spans {
	struct row_span *items;
	size_t count, capacity;
};

struct times_writer {
	struct column_writer columns, rows;
	struct times_used used;
	uint64_t slice_ns;
	uint32_t thread; /* of the last row */
	size_t times;
};

void times_writer_init(struct times_writer *writer, uint64_t slice_ns);
/* Before the first row: rows have these spans. */
void times_writer_set_spans(
	struct times_writer *writer, const struct pilotlight_thread_context *ids, size_t count);
void times_writer_done(struct times_writer *writer);
size_t times_writer_bytes(const struct times_writer *writer);
/* Adds the next row of the window; sorts and joins its times. They have no more than its count in
 * total. */
void times_writer_add(
	struct times_writer *writer, const struct window_row *row, struct row_times *times);
/* After times_writer_set_spans(), with each row. They have no more than its count in total. */
void times_writer_add_spans(struct times_writer *writer, const struct row_spans *spans);
/* Returns as column_writer_finish(). Without a single time there is no blob: NULL. */
int times_writer_finish(
	struct times_writer *writer, int level, uint8_t **ret_blob, size_t *ret_size);

struct times_reader {
	struct column_reader columns;
	struct times_coder *coder; /* NULL: version 1 */
	bool has_threads;	   /* version 3 */
	struct slice_shift shift;  /* of times_reader_add(); at first, none */
	uint64_t slice_ns;
	unsigned int spans_column;		     /* the first of them */
	const struct pilotlight_thread_context *ids; /* of spans; NULL: none */
	size_t id_count;
	/* Of version 1: */
	uint32_t first; /* slice of the last row that has times */
	bool has_counts;
};

/* Returns as column_reader_init(). */
int times_reader_init(struct times_reader *reader, const void *blob, size_t size);
void times_reader_done(struct times_reader *reader);
/* What the reader holds beside the unpacked blob. */
size_t times_reader_bytes(const struct times_reader *reader);
/* Before the first row of each thread, whose rows have so many counts. Returns 0, -ENOMEM or
 * -EBADMSG. */
int times_reader_begin_thread(struct times_reader *reader, uint64_t counts);
/* Reads the times of the window's next row, or adds them, shifted. Returns 0, -ENOMEM or -EBADMSG.
 */
int times_reader_next(
	struct times_reader *reader, const struct window_row *row, struct row_times *times);
int times_reader_add(
	struct times_reader *reader, const struct window_row *row, struct row_times *times);
/*
 * If it has_threads: instead of all rows of the next thread, and of its beginning, reads its times,
 * in a fraction of the time. Returns as above. After the last thread, finish_threads() instead.
 */
int times_reader_next_thread(struct times_reader *reader, uint64_t counts, struct row_times *times);
int times_reader_finish_threads(const struct times_reader *reader);
/* The spans of the same row; without any, none. Returns 0, -ENOMEM or -EBADMSG. */
int times_reader_next_spans(
	struct times_reader *reader, const struct window_row *row, struct row_spans *spans);
/* After the window's last row: 0, or -EBADMSG if anything is left. */
int times_reader_finish(const struct times_reader *reader);
