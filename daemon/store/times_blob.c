/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/times_blob.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "store/varint.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

enum {
	COLUMN_HEAD,
	/* Of version 1: */
	COLUMN_UNTIMED,
	COLUMN_FIRST_LOW,
	COLUMN_FIRST_HIGH,
	COLUMN_NEXT,
	COLUMN_COUNT,
	COLUMNS_OF_1,
	/* Of version 2 and 3: */
	COLUMN_CODED = 1,
	COLUMNS_OF_2,
	/* Of version 3: */
	COLUMN_CODED_ROWS = 2,
	COLUMNS,
	/* Of spans, behind the others: */
	COLUMN_IDS = 0,
	COLUMN_SPANS,
	COLUMN_SPAN,
	COLUMN_SPAN_COUNT,
	COLUMNS_OF_SPANS,
};

enum {
	CODED = 2, /* in the head */
	CODED_APART = 3,
	LOW_BITS = 7,
	LOW_MASK = (1 << LOW_BITS) - 1,
};

/* --- writing --- */

void times_writer_init(struct times_writer *writer, uint64_t slice_ns)
{
	*writer = (struct times_writer){ .slice_ns = slice_ns };
	column_writer_init(&writer->columns, COLUMNS);
	column_writer_init(&writer->rows, 1);
}

void times_writer_set_spans(
	struct times_writer *writer, const struct pilotlight_thread_context *ids, size_t count)
{
	writer->columns.count = COLUMNS + COLUMNS_OF_SPANS;
	column_put_bytes(&writer->columns, COLUMNS + COLUMN_IDS, ids, count * sizeof(*ids));
}

void times_writer_done(struct times_writer *writer)
{
	column_writer_done(&writer->columns);
	column_writer_done(&writer->rows);
}

size_t times_writer_bytes(const struct times_writer *writer)
{
	return column_writer_bytes(&writer->columns) + column_writer_bytes(&writer->rows);
}

/*
 * Keeps the row in few bytes, because the coder must know all slices first: varints of the number
 * of times, twice, plus 1 if it is the first row of its thread; of the counts without a time; per
 * time, of the distance to the slice before, twice, plus 1 if more than one count follows.
 */
void times_writer_add(
	struct times_writer *writer, const struct window_row *row, struct row_times *times)
{
	const bool is_first = writer->rows.columns[0].size == 0 || row->thread != writer->thread;
	uint64_t untimed = row->count;
	uint32_t slice = 0;

	row_times_join(times);
	for (size_t i = 0; i < times->count; i++) {
		assert(times->items[i].count > 0 && times->items[i].count <= untimed);
		untimed -= times->items[i].count;
	}
	column_put(&writer->rows, 0, times->count << 1 | is_first);
	column_put(&writer->rows, 0, untimed);
	for (size_t i = 0; i < times->count; i++) {
		const struct row_time *time = &times->items[i];

		column_put(
			&writer->rows, 0, (uint64_t)(time->slice - slice) << 1 | (time->count > 1));
		if (time->count > 1)
			column_put(&writer->rows, 0, time->count);
		slice = time->slice;
		writer->used.bits[slice / 8] |= (uint8_t)(1 << slice % 8);
	}
	writer->thread = row->thread;
	writer->times += times->count;
}

void times_writer_add_spans(struct times_writer *writer, const struct row_spans *spans)
{
	column_put(&writer->columns, COLUMNS + COLUMN_SPANS, spans->count);
	for (size_t i = 0; i < spans->count; i++) {
		column_put(&writer->columns, COLUMNS + COLUMN_SPAN, spans->items[i].span);
		column_put(
			&writer->columns, COLUMNS + COLUMN_SPAN_COUNT, spans->items[i].count - 1);
	}
}

/* Kept rows. Those of the thread begin at `next`. */
struct kept_rows {
	const uint8_t *next, *end;
	struct row_times row, thread;
	uint64_t counts; /* of the row */
};

static uint64_t next_number(struct kept_rows *rows)
{
	uint64_t number = 0;

	(void)varint_get(&rows->next, rows->end, &number);
	return number;
}

static int next_row(struct kept_rows *rows)
{
	const uint64_t times = next_number(rows) >> 1;
	uint32_t slice = 0;
	int r = 0;

	rows->row.count = 0;
	rows->counts = next_number(rows);
	for (uint64_t i = 0; r == 0 && i < times; i++) {
		const uint64_t distance = next_number(rows),
			       count = distance & 1 ? next_number(rows) : 1;

		slice += (uint32_t)(distance >> 1);
		rows->counts += count;
		r = row_times_add(&rows->row, slice, count);
	}
	return r;
}

static int code_thread(struct kept_rows *rows, struct times_coder *coder)
{
	const uint8_t *first = rows->next, *end;
	uint64_t counts = 0, timed = 0;
	int r = 0;

	rows->thread.count = 0;
	do {
		r = next_row(rows);
		if (r == 0 && __builtin_add_overflow(counts, rows->counts, &counts))
			r = -E2BIG;
		for (size_t i = 0; r == 0 && i < rows->row.count; i++) {
			const struct row_time *time = &rows->row.items[i];

			/* Damaged rows of version 1 may have more, beyond what a slice counts. */
			timed += time->count;
			r = timed > TIMES_COUNT_MAX
				    ? -E2BIG
				    : row_times_add(&rows->thread, time->slice, time->count);
		}
	} while (r == 0 && rows->next < rows->end && !(*rows->next & 1));
	end = rows->next;
	row_times_join(&rows->thread);
	if (r == 0)
		r = times_coder_thread(coder, counts, &rows->thread);
	for (rows->next = first; r == 0 && rows->next < end;) {
		r = next_row(rows);
		if (r == 0)
			r = times_coder_row(coder, rows->counts, NULL, &rows->row);
	}
	return r;
}

static int code_rows(struct times_writer *writer)
{
	_cleanup_(times_coder_freep) struct times_coder *coder = NULL;
	const struct column *kept = &writer->rows.columns[0];
	struct kept_rows rows = { .next = kept->bytes, .end = kept->bytes + kept->size };
	int r = times_coder_new_writer(&writer->columns, COLUMN_CODED, &writer->used, &coder);

	while (r == 0 && rows.next < rows.end)
		r = code_thread(&rows, coder);
	if (r == 0)
		times_coder_finish_writing(coder);
	free(rows.row.items);
	free(rows.thread.items);
	return r;
}

int times_writer_finish(
	struct times_writer *writer, int level, uint8_t **ret_blob, size_t *ret_size)
{
	int r = writer->rows.error;

	if (writer->times == 0 && r == 0 && writer->columns.error == 0) {
		*ret_blob = NULL;
		*ret_size = 0;
		return 0;
	}
	column_put(&writer->columns, COLUMN_HEAD, writer->slice_ns);
	column_put(&writer->columns, COLUMN_HEAD, CODED_APART);
	if (r == 0)
		r = code_rows(writer);
	column_writer_done(&writer->rows);
	return r < 0 ? r : column_writer_finish(&writer->columns, level, ret_blob, ret_size);
}

/* --- reading --- */

/* Returns false if there are other columns than those of a version, with spans or without. */
static bool open_spans(struct times_reader *reader)
{
	struct column_reader *columns = &reader->columns;
	size_t size;

	if (columns->count == reader->spans_column)
		return true;
	if (columns->count != reader->spans_column + COLUMNS_OF_SPANS)
		return false;
	size = column_left(columns, reader->spans_column + COLUMN_IDS);
	reader->id_count = size / sizeof(*reader->ids);
	/* An array of bytes has any alignment. */
	reader->ids =
		(const void *)column_get_bytes(columns, reader->spans_column + COLUMN_IDS, size);
	return size % sizeof(*reader->ids) == 0;
}

static int open_coder(struct times_reader *reader)
{
	struct column_reader *columns = &reader->columns;
	const size_t size = column_left(columns, COLUMN_CODED);
	const uint8_t *bytes = column_get_bytes(columns, COLUMN_CODED, size), *row_bytes = NULL;
	size_t row_size = 0;

	if (reader->has_threads) {
		row_size = column_left(columns, COLUMN_CODED_ROWS);
		row_bytes = column_get_bytes(columns, COLUMN_CODED_ROWS, row_size);
	}
	return times_coder_new_reader(bytes, size, row_bytes, row_size, &reader->coder);
}

int times_reader_init(struct times_reader *reader, const void *blob, size_t size)
{
	uint64_t coding;
	int r;

	*reader = (struct times_reader){ .shift.per = 1 };
	r = column_reader_init_range(
		&reader->columns, COLUMNS_OF_2, COLUMNS_OF_1 + COLUMNS_OF_SPANS, blob, size);
	if (r < 0)
		return r;
	reader->slice_ns = column_get(&reader->columns, COLUMN_HEAD);
	coding = column_get(&reader->columns, COLUMN_HEAD);
	reader->has_counts = coding == 1;
	reader->has_threads = coding == CODED_APART;
	reader->spans_column = coding == CODED_APART ? COLUMNS
			       : coding == CODED     ? COLUMNS_OF_2
						     : COLUMNS_OF_1;
	if (!open_spans(reader) || reader->columns.is_damaged || reader->slice_ns == 0 ||
		reader->slice_ns > TIMES_SLICE_NS_MAX || coding > CODED_APART)
		r = -EBADMSG;
	else if (coding >= CODED)
		r = open_coder(reader);
	if (r < 0)
		times_reader_done(reader);
	return r;
}

void times_reader_done(struct times_reader *reader)
{
	column_reader_done(&reader->columns);
	times_coder_free(reader->coder);
	*reader = (struct times_reader){ 0 };
}

size_t times_reader_bytes(const struct times_reader *reader)
{
	return reader->coder ? times_coder_bytes(reader->coder) : 0;
}

int times_reader_begin_thread(struct times_reader *reader, uint64_t counts)
{
	int r = reader->coder ? times_coder_thread(reader->coder, counts, NULL) : 0;

	return r == -E2BIG ? -EBADMSG : r;
}

int times_reader_next_thread(struct times_reader *reader, uint64_t counts, struct row_times *times)
{
	const struct row_times *slots;
	int r = times_reader_begin_thread(reader, counts);

	if (r < 0)
		return r;
	slots = times_coder_skip_rows(reader->coder);
	times->count = 0;
	for (size_t i = 0; r == 0 && i < slots->count; i++)
		r = row_times_add(times, slots->items[i].slice, slots->items[i].count);
	return r;
}

int times_reader_finish_threads(const struct times_reader *reader)
{
	return times_coder_has_whole_threads(reader->coder) ? 0 : -EBADMSG;
}

static uint64_t get_first(struct times_reader *reader)
{
	const uint64_t low = column_get(&reader->columns, COLUMN_FIRST_LOW);
	const uint64_t high = column_get(&reader->columns, COLUMN_FIRST_HIGH);
	uint64_t value;

	if (low > LOW_MASK || high > TIMES_SLICE_MAX) {
		reader->columns.is_damaged = true;
		return 0;
	}
	value = high << LOW_BITS | low;
	/* Below 0 it wraps, beyond the bound of slices. */
	return value & 1 ? reader->first - (value + 1) / 2 : reader->first + value / 2;
}

static uint64_t get_distance(struct times_reader *reader)
{
	const uint64_t distance = column_get(&reader->columns, COLUMN_NEXT);

	return distance < TIMES_SLICE_MAX ? distance : TIMES_SLICE_MAX;
}

/* Reads a row of version 1. */
static int read_columns(
	struct times_reader *reader, const struct window_row *row, struct row_times *times)
{
	uint64_t left = row->count, untimed = column_get(&reader->columns, COLUMN_UNTIMED);
	uint64_t slice = 0, count;
	bool is_first = true;
	int r = 0;

	if (untimed > left || left - untimed > TIMES_COUNT_MAX)
		return -EBADMSG;
	for (left -= untimed; r == 0 && left > 0; left -= count, is_first = false) {
		if (is_first)
			reader->first = (uint32_t)(slice = get_first(reader));
		else
			slice += get_distance(reader);
		count = 1;
		if (reader->has_counts)
			count += column_get(&reader->columns, COLUMN_COUNT);
		if (reader->columns.is_damaged || slice >= TIMES_SLICE_MAX || count == 0 ||
			count > left)
			return -EBADMSG;
		r = row_times_add_shifted(times, (uint32_t)slice, count, &reader->shift);
	}
	return reader->columns.is_damaged ? -EBADMSG : r;
}

int times_reader_add(
	struct times_reader *reader, const struct window_row *row, struct row_times *times)
{
	int r = reader->coder ? times_coder_row(reader->coder, row->count, &reader->shift, times)
			      : read_columns(reader, row, times);

	return r == -E2BIG ? -EBADMSG : r;
}

int times_reader_next(
	struct times_reader *reader, const struct window_row *row, struct row_times *times)
{
	int r;

	times->count = 0;
	r = times_reader_add(reader, row, times);
	if (r == 0)
		row_times_join(times);
	return r;
}

int times_reader_next_spans(
	struct times_reader *reader, const struct window_row *row, struct row_spans *spans)
{
	uint64_t left = row->count, count;
	int r;

	spans->count = 0;
	if (!reader->ids)
		return 0;
	count = column_get(&reader->columns, reader->spans_column + COLUMN_SPANS);
	/* Each takes a byte. */
	if (count > column_left(&reader->columns, reader->spans_column + COLUMN_SPAN))
		return -EBADMSG;
	r = ARRAY_RESERVE(spans->items, &spans->capacity, count, COLUMN_BLOB_PLAIN_MAX);
	if (r < 0)
		return r;
	for (; spans->count < count; spans->count++) {
		struct row_span *span = &spans->items[spans->count];

		span->span = column_get_below(
			&reader->columns, reader->spans_column + COLUMN_SPAN, reader->id_count);
		span->count =
			column_get(&reader->columns, reader->spans_column + COLUMN_SPAN_COUNT);
		if (reader->columns.is_damaged || span->count >= left)
			return -EBADMSG;
		left -= ++span->count;
	}
	return reader->columns.is_damaged ? -EBADMSG : 0;
}

int times_reader_finish(const struct times_reader *reader)
{
	if (reader->coder && !times_coder_is_whole(reader->coder))
		return -EBADMSG;
	return column_reader_is_whole(&reader->columns) ? 0 : -EBADMSG;
}
