/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The times of a window's samples. The first byte says whether the rest is the blob or its content
 * before compression, which a fuzzer would never produce correctly, and how many counts the rows
 * have. What is read is written and read again, and must be equal.
 */
#include "store/times_blob.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

enum { ROWS = 8, IDS_MAX = 8 };

static void require(bool condition)
{
	if (!condition)
		abort();
}

static struct window_row row_of(unsigned int kind, uint32_t i)
{
	return (struct window_row){ .thread = i / 3, .node = i, .count = 1 + i * kind };
}

static uint64_t counts_of_thread(unsigned int kind, uint32_t first)
{
	uint64_t counts = 0;

	for (uint32_t i = first; i < ROWS && row_of(kind, i).thread == row_of(kind, first).thread;
		i++)
		counts += row_of(kind, i).count;
	return counts;
}

struct rows {
	struct row_times of[ROWS];
	struct row_spans spans[ROWS];
	struct pilotlight_thread_context ids[IDS_MAX];
	size_t id_count;
};

static void rows_done(struct rows *rows)
{
	for (uint32_t i = 0; i < ROWS; i++) {
		free(rows->of[i].items);
		free(rows->spans[i].items);
	}
}

static bool read_rows(const uint8_t *blob, size_t size, unsigned int kind, struct rows *ret_rows)
{
	struct times_reader reader;
	int r = times_reader_init(&reader, blob, size);

	if (r < 0)
		return false;
	for (uint32_t i = 0; r == 0 && i < ROWS; i++) {
		struct window_row row = row_of(kind, i);

		if (i % 3 == 0)
			r = times_reader_begin_thread(&reader, counts_of_thread(kind, i));
		if (r == 0)
			r = times_reader_next(&reader, &row, &ret_rows->of[i]);
		if (r == 0)
			r = times_reader_next_spans(&reader, &row, &ret_rows->spans[i]);
	}
	if (r == 0)
		r = times_reader_finish(&reader);
	ret_rows->id_count = reader.id_count < IDS_MAX ? reader.id_count : IDS_MAX;
	if (ret_rows->id_count > 0)
		memcpy(ret_rows->ids, reader.ids, ret_rows->id_count * sizeof(*reader.ids));
	times_reader_done(&reader);
	return r == 0;
}

static void write_again(struct rows *rows, unsigned int kind)
{
	/* Only as many ids are known. */
	const bool has_spans = rows->id_count > 0 && rows->id_count < IDS_MAX;
	struct rows again = { 0 };
	struct times_writer writer;
	uint8_t *blob;
	size_t size;

	times_writer_init(&writer, 1000);
	if (has_spans)
		times_writer_set_spans(&writer, rows->ids, rows->id_count);
	for (uint32_t i = 0; i < ROWS; i++) {
		struct window_row row = row_of(kind, i);

		times_writer_add(&writer, &row, &rows->of[i]);
		if (has_spans)
			times_writer_add_spans(&writer, &rows->spans[i]);
	}
	require(times_writer_finish(&writer, 1, &blob, &size) == 0);
	times_writer_done(&writer);
	if (!blob)
		return;
	require(read_rows(blob, size, kind, &again));
	for (uint32_t i = 0; i < ROWS; i++) {
		require(again.of[i].count == rows->of[i].count);
		for (size_t j = 0; j < again.of[i].count; j++)
			require(again.of[i].items[j].slice == rows->of[i].items[j].slice &&
				again.of[i].items[j].count == rows->of[i].items[j].count);
		require(!has_spans || again.spans[i].count == rows->spans[i].count);
		for (size_t j = 0; j < again.spans[i].count; j++)
			require(again.spans[i].items[j].count == rows->spans[i].items[j].count &&
				again.spans[i].items[j].span == rows->spans[i].items[j].span);
	}
	rows_done(&again);
	free(blob);
}

/* Without rows, as a heat map does. */
static void read_threads(const uint8_t *blob, size_t size, unsigned int kind)
{
	struct row_times times = { 0 };
	struct times_reader reader;

	if (times_reader_init(&reader, blob, size) < 0)
		return;
	for (uint32_t i = 0; reader.has_threads && i < ROWS; i += 3) {
		uint64_t left = counts_of_thread(kind, i);

		if (times_reader_next_thread(&reader, left, &times) < 0)
			break;
		for (size_t j = 0; j < times.count; left -= times.items[j].count, j++)
			require(times.items[j].count <= left);
	}
	times_reader_done(&reader);
	free(times.items);
}

static void read_blob(const uint8_t *blob, size_t size, unsigned int kind)
{
	struct rows rows = { 0 };

	read_threads(blob, size, kind);
	if (read_rows(blob, size, kind, &rows))
		write_again(&rows, kind);
	rows_done(&rows);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	uint8_t *blob;
	size_t bound, packed;

	if (size < 1)
		return 0;
	if (bytes[0] & 1) {
		read_blob(bytes + 1, size - 1, bytes[0] >> 1);
		return 0;
	}
	bound = ZSTD_compressBound(size);
	blob = malloc(bound + 1);
	require(blob != NULL);
	blob[0] = COLUMN_BLOB_VERSION;
	packed = ZSTD_compress(blob + 1, bound, bytes + 1, size - 1, 1);
	require(!ZSTD_isError(packed));
	read_blob(blob, packed + 1, bytes[0] >> 1);
	free(blob);
	return 0;
}
