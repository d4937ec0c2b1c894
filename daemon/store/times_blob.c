/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/times_blob.h"

#include "base/array.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

enum column_name {
	COLUMN_HEAD,
	COLUMN_UNTIMED,
	COLUMN_FIRST_LOW,
	COLUMN_FIRST_HIGH,
	COLUMN_NEXT,
	COLUMN_COUNT,
	COLUMNS,
	COLUMN_IDS = COLUMNS,
	COLUMN_SPANS,
	COLUMN_SPAN,
	COLUMN_SPAN_COUNT,
	COLUMNS_WITH_SPANS,
};

enum {
	LOW_BITS = 7,
	LOW_MASK = (1 << LOW_BITS) - 1,
	JOINED_MIN = 256, /* times of a row; fewer are not worth sorting before the end */
};

static int compare_times(const void *a, const void *b)
{
	const struct row_time *first = a, *second = b;

	return (first->slice > second->slice) - (first->slice < second->slice);
}

static void join(struct row_times *times)
{
	struct row_time *items = times->items;
	size_t last = 0;

	if (times->count < 2)
		return;
	qsort(items, times->count, sizeof(*items), compare_times);
	for (size_t i = 1; i < times->count; i++) {
		if (items[i].slice == items[last].slice)
			items[last].count += items[i].count;
		else
			items[++last] = items[i];
	}
	times->count = last + 1;
}

/* Joins before it grows. A quarter must become free, or each of the next additions would sort. */
static int make_room(struct row_times *times)
{
	if (times->count < times->capacity)
		return 0;
	if (times->capacity >= JOINED_MIN) {
		join(times);
		if (times->count <= times->capacity / 4 * 3)
			return 0;
	}
	return ARRAY_RESERVE(times->items, &times->capacity, times->capacity + 1, ROW_TIMES_MAX);
}

int row_times_add(struct row_times *times, uint32_t slice, uint64_t count)
{
	int r;

	if (times->count > 0 && times->items[times->count - 1].slice == slice) {
		times->items[times->count - 1].count += count;
		return 0;
	}
	r = make_room(times);
	if (r == 0)
		times->items[times->count++] = (struct row_time){ .count = count, .slice = slice };
	return r;
}

/* --- writing --- */

void times_writer_init(struct times_writer *writer, uint64_t slice_ns)
{
	*writer = (struct times_writer){ .slice_ns = slice_ns };
	column_writer_init(&writer->columns, COLUMNS);
}

void times_writer_set_spans(
	struct times_writer *writer, const struct pilotlight_thread_context *ids, size_t count)
{
	writer->columns.count = COLUMNS_WITH_SPANS;
	column_put_bytes(&writer->columns, COLUMN_IDS, ids, count * sizeof(*ids));
}

void times_writer_done(struct times_writer *writer)
{
	column_writer_done(&writer->columns);
}

static void put_first(struct times_writer *writer, uint32_t slice)
{
	const int64_t difference = (int64_t)slice - writer->first;
	const uint64_t value = (uint64_t)(difference < 0 ? -difference * 2 - 1 : difference * 2);

	column_put(&writer->columns, COLUMN_FIRST_LOW, value & LOW_MASK);
	column_put(&writer->columns, COLUMN_FIRST_HIGH, value >> LOW_BITS);
	writer->first = slice;
}

/* Most times are of one count: the column begins with the first one that is not. */
static void put_count(struct times_writer *writer, uint64_t count)
{
	if (!writer->has_counts && count > 1) {
		writer->has_counts = true;
		for (size_t i = 0; i < writer->times; i++)
			column_put(&writer->columns, COLUMN_COUNT, 0);
	}
	if (writer->has_counts)
		column_put(&writer->columns, COLUMN_COUNT, count - 1);
	writer->times++;
}

void times_writer_add(
	struct times_writer *writer, const struct window_row *row, struct row_times *times)
{
	uint64_t untimed = row->count;

	join(times);
	for (size_t i = 0; i < times->count; i++) {
		const struct row_time *time = &times->items[i];

		assert(time->count > 0 && time->count <= untimed);
		untimed -= time->count;
		if (i == 0)
			put_first(writer, time->slice);
		else
			column_put(&writer->columns, COLUMN_NEXT,
				time->slice - times->items[i - 1].slice);
		put_count(writer, time->count);
	}
	column_put(&writer->columns, COLUMN_UNTIMED, untimed);
}

void times_writer_add_spans(struct times_writer *writer, const struct row_spans *spans)
{
	column_put(&writer->columns, COLUMN_SPANS, spans->count);
	for (size_t i = 0; i < spans->count; i++) {
		column_put(&writer->columns, COLUMN_SPAN, spans->items[i].span);
		column_put(&writer->columns, COLUMN_SPAN_COUNT, spans->items[i].count - 1);
	}
}

int times_writer_finish(
	struct times_writer *writer, int level, uint8_t **ret_blob, size_t *ret_size)
{
	if (writer->times == 0 && writer->columns.error == 0) {
		*ret_blob = NULL;
		*ret_size = 0;
		return 0;
	}
	column_put(&writer->columns, COLUMN_HEAD, writer->slice_ns);
	column_put(&writer->columns, COLUMN_HEAD, writer->has_counts);
	return column_writer_finish(&writer->columns, level, ret_blob, ret_size);
}

/* --- reading --- */

/* Returns false if the columns of spans are not those of a whole number of them. */
static bool open_spans(struct times_reader *reader)
{
	const size_t size = column_left(&reader->columns, COLUMN_IDS);

	if (reader->columns.count == COLUMNS)
		return true;
	reader->id_count = size / sizeof(*reader->ids);
	/* An array of bytes has any alignment. */
	reader->ids = (const void *)column_get_bytes(&reader->columns, COLUMN_IDS, size);
	return reader->columns.count == COLUMNS_WITH_SPANS && size % sizeof(*reader->ids) == 0;
}

int times_reader_init(struct times_reader *reader, const void *blob, size_t size)
{
	uint64_t has_counts;
	int r;

	*reader = (struct times_reader){ 0 };
	r = column_reader_init_range(&reader->columns, COLUMNS, COLUMNS_WITH_SPANS, blob, size);
	if (r < 0)
		return r;
	reader->slice_ns = column_get(&reader->columns, COLUMN_HEAD);
	has_counts = column_get(&reader->columns, COLUMN_HEAD);
	reader->has_counts = has_counts == 1;
	if (open_spans(reader) && !reader->columns.is_damaged && reader->slice_ns > 0 &&
		reader->slice_ns <= TIMES_SLICE_NS_MAX && has_counts <= 1)
		return 0;
	times_reader_done(reader);
	return -EBADMSG;
}

void times_reader_done(struct times_reader *reader)
{
	column_reader_done(&reader->columns);
	*reader = (struct times_reader){ 0 };
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

int times_reader_add(struct times_reader *reader, const struct window_row *row, uint64_t later,
	uint64_t per, struct row_times *times)
{
	uint64_t left = row->count, untimed = column_get(&reader->columns, COLUMN_UNTIMED);
	uint64_t slice = 0, count;
	bool is_first = true;
	int r = 0;

	if (untimed > left)
		return -EBADMSG;
	for (left -= untimed; r == 0 && left > 0; left -= count, is_first = false) {
		if (is_first)
			reader->first = (uint32_t)(slice = get_first(reader));
		else
			slice += get_distance(reader);
		count = 1;
		if (reader->has_counts)
			count += column_get(&reader->columns, COLUMN_COUNT);
		if (reader->columns.is_damaged || slice >= TIMES_SLICE_MAX ||
			later >= TIMES_SLICE_MAX - slice || count == 0 || count > left)
			return -EBADMSG;
		r = row_times_add(times, (uint32_t)((slice + later) / per), count);
	}
	if (r == -E2BIG || reader->columns.is_damaged)
		return -EBADMSG;
	return r;
}

int times_reader_next(
	struct times_reader *reader, const struct window_row *row, struct row_times *times)
{
	times->count = 0;
	return times_reader_add(reader, row, 0, 1, times);
}

int times_reader_next_spans(
	struct times_reader *reader, const struct window_row *row, struct row_spans *spans)
{
	uint64_t left = row->count, count;
	int r;

	spans->count = 0;
	if (!reader->ids)
		return 0;
	count = column_get(&reader->columns, COLUMN_SPANS);
	/* Each takes a byte. */
	if (count > column_left(&reader->columns, COLUMN_SPAN))
		return -EBADMSG;
	r = ARRAY_RESERVE(spans->items, &spans->capacity, count, COLUMN_BLOB_PLAIN_MAX);
	if (r < 0)
		return r;
	for (; spans->count < count; spans->count++) {
		struct row_span *span = &spans->items[spans->count];

		span->span = column_get_below(&reader->columns, COLUMN_SPAN, reader->id_count);
		span->count = column_get(&reader->columns, COLUMN_SPAN_COUNT);
		if (reader->columns.is_damaged || span->count >= left)
			return -EBADMSG;
		left -= ++span->count;
	}
	return reader->columns.is_damaged ? -EBADMSG : 0;
}

int times_reader_finish(const struct times_reader *reader)
{
	return column_reader_is_whole(&reader->columns) ? 0 : -EBADMSG;
}
