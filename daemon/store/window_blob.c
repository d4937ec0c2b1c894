/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/window_blob.h"

#include "base/array.h"

#include <assert.h>
#include <errno.h>

enum column_name { COLUMN_HEAD, COLUMN_THREAD, COLUMN_RUN, COLUMN_NODE, COLUMN_COUNT, COLUMNS };

void window_writer_init(struct window_writer *writer)
{
	*writer = (struct window_writer){ 0 };
	column_writer_init(&writer->columns, COLUMNS);
}

void window_writer_done(struct window_writer *writer)
{
	column_writer_done(&writer->columns);
}

static void end_run(struct window_writer *writer)
{
	if (writer->run_rows > 0)
		column_put(&writer->columns, COLUMN_RUN, writer->run_rows - 1);
	writer->run_rows = 0;
}

void window_writer_add(struct window_writer *writer, const struct window_row *row)
{
	const struct window_row *last = &writer->last;

	assert(row->count > 0);
	if (writer->run_rows > 0 && row->thread == last->thread) {
		assert(row->node > last->node);
		column_put(&writer->columns, COLUMN_NODE, row->node - last->node - 1);
	} else {
		assert(writer->rows == 0 || row->thread > last->thread);
		end_run(writer);
		column_put(&writer->columns, COLUMN_THREAD,
			writer->rows == 0 ? row->thread : row->thread - last->thread - 1);
		column_put_difference(&writer->columns, COLUMN_NODE, writer->run_node, row->node);
		writer->run_node = row->node;
		writer->runs++;
	}
	column_put(&writer->columns, COLUMN_COUNT, row->count - 1);
	writer->run_rows++;
	writer->rows++;
	writer->samples += row->count;
	writer->last = *row;
}

int window_writer_finish(
	struct window_writer *writer, int level, uint8_t **ret_blob, size_t *ret_size)
{
	if (writer->rows > WINDOW_ROWS_MAX)
		return -E2BIG;
	end_run(writer);
	column_put(&writer->columns, COLUMN_HEAD, writer->rows);
	column_put(&writer->columns, COLUMN_HEAD, writer->runs);
	return column_writer_finish(&writer->columns, level, ret_blob, ret_size);
}

int window_reader_init(struct window_reader *reader, const void *blob, size_t size,
	uint32_t thread_limit, uint32_t node_limit)
{
	int r;

	*reader = (struct window_reader){
		.thread_limit = thread_limit,
		.node_limit = node_limit,
		.is_first = true,
	};
	r = column_reader_init(&reader->columns, COLUMNS, blob, size);
	if (r < 0)
		return r;
	reader->rows_left = column_get(&reader->columns, COLUMN_HEAD);
	reader->runs_left = column_get(&reader->columns, COLUMN_HEAD);
	if (reader->columns.is_damaged || reader->rows_left > WINDOW_ROWS_MAX ||
		reader->runs_left > reader->rows_left ||
		reader->rows_left > column_left(&reader->columns, COLUMN_NODE)) {
		window_reader_done(reader);
		return -EBADMSG;
	}
	return 0;
}

void window_reader_done(struct window_reader *reader)
{
	column_reader_done(&reader->columns);
	*reader = (struct window_reader){ 0 };
}

static int begin_run(struct window_reader *reader)
{
	uint64_t skipped = column_get(&reader->columns, COLUMN_THREAD);
	uint64_t more = column_get(&reader->columns, COLUMN_RUN);

	if (reader->runs_left == 0 || skipped >= reader->thread_limit || more >= reader->rows_left)
		return -EBADMSG;
	reader->thread += skipped + (reader->is_first ? 0 : 1);
	reader->is_first = false;
	reader->runs_left--;
	reader->run_left = more + 1;
	reader->run_node = column_get_difference(&reader->columns, COLUMN_NODE, reader->run_node);
	reader->node = reader->run_node;
	return 0;
}

int window_reader_next(struct window_reader *reader, struct window_row *ret_row)
{
	uint64_t count;
	int r;

	if (reader->rows_left == 0)
		return column_reader_is_whole(&reader->columns) && reader->runs_left == 0
			       ? 0
			       : -EBADMSG;
	if (reader->run_left == 0) {
		r = begin_run(reader);
		if (r < 0)
			return r;
	} else {
		uint64_t skipped = column_get(&reader->columns, COLUMN_NODE);

		if (skipped >= reader->node_limit)
			return -EBADMSG;
		reader->node += skipped + 1;
	}
	count = column_get(&reader->columns, COLUMN_COUNT);
	if (reader->columns.is_damaged || count == UINT64_MAX ||
		reader->thread >= reader->thread_limit || reader->node >= reader->node_limit)
		return -EBADMSG;
	reader->run_left--;
	reader->rows_left--;
	*ret_row = (struct window_row){
		.count = count + 1,
		.thread = (uint32_t)reader->thread,
		.node = (uint32_t)reader->node,
	};
	return 1;
}

uint64_t window_reader_thread_counts(
	const struct window_reader *reader, const struct window_row *row)
{
	struct window_reader ahead = *reader;
	uint64_t counts = row->count;
	struct window_row next;

	while (ahead.run_left > 0)
		if (window_reader_next(&ahead, &next) != 1 ||
			__builtin_add_overflow(counts, next.count, &counts))
			return UINT64_MAX;
	return counts;
}

int window_rows_read(struct window_rows *rows, struct window_reader *reader)
{
	int r;

	rows->count = 0;
	r = ARRAY_RESERVE(rows->items, &rows->capacity, (size_t)reader->rows_left, WINDOW_ROWS_MAX);
	if (r < 0)
		return r;
	do {
		struct window_row row;

		r = window_reader_next(reader, &row);
		if (r == 1)
			rows->items[rows->count++] = row;
	} while (r == 1);
	return r;
}
