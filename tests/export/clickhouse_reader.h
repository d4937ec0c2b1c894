/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads batches for ClickHouse back, by the definition of RowBinary alone. */
#pragma once

#include "base/array.h"
#include "pilotlight/clickhouse_batch.h"
#include "tests/export/pprof_profile.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <zlib.h>

enum { TEXT_ROOM = 256, ROWS_MAX = 64, ARRAY_MAX = 12, PLAIN_ROOM = 1 << 20 };

struct text {
	char bytes[TEXT_ROOM];
};

struct texts {
	struct text items[ARRAY_MAX];
	size_t count;
};

struct row { /* of any table */
	uint64_t day, start_s, duration_ns, id, vaddr, rank, value, period, stack;
	double weight;
	struct text host, service, type, build_id, kind, path;
	struct texts labels, functions, files;
	uint64_t numbers[ARRAY_MAX]; /* locations, lines */
	size_t number_count;
	uint8_t trace_id[16], span_id[8];
};

enum { IDENTITY, NAMES, LOCATIONS, STACKS, SPANS, SAMPLES, REQUESTS };

struct request {
	uint8_t *plain; /* with a NUL; of the identity it is the body */
	size_t size;
	struct row *rows;
	size_t count;
};

struct batch {
	char *bytes;
	size_t size;
	struct request requests[REQUESTS];
};

/* --- RowBinary --- */

struct cursor {
	const uint8_t *at, *end;
};

static uint64_t take(struct cursor *cursor, unsigned bytes)
{
	uint64_t number = 0;

	assert_true(cursor->end - cursor->at >= bytes);
	for (unsigned i = 0; i < bytes; i++)
		number |= (uint64_t)*cursor->at++ << 8 * i;
	return number;
}

static void take_bytes(struct cursor *cursor, uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		bytes[i] = (uint8_t)take(cursor, 1);
}

static uint64_t take_length(struct cursor *cursor)
{
	uint64_t number = 0;

	for (unsigned shift = 0;; shift += 7) {
		uint64_t byte = take(cursor, 1);

		assert_true(shift < 64);
		number |= (byte & 127) << shift;
		if (byte < 128)
			return number;
	}
}

static void take_text(struct cursor *cursor, struct text *text)
{
	uint64_t size = take_length(cursor);

	assert_true(size < TEXT_ROOM && size <= (uint64_t)(cursor->end - cursor->at));
	memcpy(text->bytes, cursor->at, size);
	text->bytes[size] = '\0';
	cursor->at += size;
}

static void take_texts(struct cursor *cursor, struct texts *texts)
{
	texts->count = take_length(cursor);
	assert_true(texts->count <= ARRAY_MAX);
	for (size_t i = 0; i < texts->count; i++)
		take_text(cursor, &texts->items[i]);
}

static void take_numbers(struct cursor *cursor, unsigned bytes, struct row *row)
{
	row->number_count = take_length(cursor);
	assert_true(row->number_count <= ARRAY_MAX);
	for (size_t i = 0; i < row->number_count; i++)
		row->numbers[i] = take(cursor, bytes);
}

static void take_sample(struct cursor *cursor, struct row *row)
{
	uint64_t bits;

	row->start_s = take(cursor, 4);
	row->duration_ns = take(cursor, 8);
	take_text(cursor, &row->host);
	take_text(cursor, &row->service);
	take_text(cursor, &row->type);
	take_texts(cursor, &row->labels);
	row->stack = take(cursor, 8);
	row->value = take(cursor, 8);
	row->period = take(cursor, 8);
	bits = take(cursor, 8);
	memcpy(&row->weight, &bits, sizeof(bits));
}

static void take_other(struct cursor *cursor, size_t table, struct row *row)
{
	row->day = take(cursor, 2);
	take_text(cursor, &row->host);
	if (table != NAMES)
		row->id = take(cursor, 8);
	if (table == STACKS) {
		take_numbers(cursor, 8, row);
		return;
	}
	take_text(cursor, &row->build_id);
	row->vaddr = take(cursor, 8);
	if (table == LOCATIONS) {
		take_text(cursor, &row->kind);
		take_text(cursor, &row->path);
		return;
	}
	row->rank = take(cursor, 1);
	take_texts(cursor, &row->functions);
	take_texts(cursor, &row->files);
	take_numbers(cursor, 4, row);
	assert_int_equal(row->functions.count, row->files.count);
	assert_int_equal(row->functions.count, row->number_count);
}

static void read_rows(size_t table, struct request *request)
{
	struct cursor cursor = { request->plain, request->plain + request->size };

	request->rows = calloc(ROWS_MAX, sizeof(*request->rows));
	assert_non_null(request->rows);
	while (cursor.at < cursor.end) {
		struct row *row = &request->rows[request->count++];

		assert_true(request->count <= ROWS_MAX);
		if (table == SAMPLES || table == SPANS)
			take_sample(&cursor, row);
		else
			take_other(&cursor, table, row);
		if (table == SPANS) {
			take_bytes(&cursor, row->trace_id, sizeof(row->trace_id));
			take_bytes(&cursor, row->span_id, sizeof(row->span_id));
		}
		assert_string_equal(row->host.bytes, "h\xc3\xb6st");
	}
}

/* --- the file --- */

static void inflate_body(struct request *request, const void *body, size_t size)
{
	z_stream stream = { .next_in = (void *)body, .avail_in = (unsigned)size };

	request->plain = malloc(PLAIN_ROOM + 1);
	assert_non_null(request->plain);
	stream.next_out = request->plain;
	stream.avail_out = PLAIN_ROOM;
	assert_int_equal(inflateInit2(&stream, 16 + 15), Z_OK);
	assert_int_equal(inflate(&stream, Z_FINISH), Z_STREAM_END);
	assert_int_equal(stream.avail_in, 0);
	request->size = stream.total_out;
	request->plain[request->size] = '\0';
	(void)inflateEnd(&stream);
}

static void copy_body(struct request *request, const void *body, size_t size)
{
	request->plain = calloc(1, size + 1);
	assert_non_null(request->plain);
	memcpy(request->plain, body, size);
	request->size = size;
}

static void read_batch(struct batch *batch)
{
	const char *at = batch->bytes, *end = batch->bytes + batch->size;
	struct pilotlight_clickhouse_batch header;

	memcpy(&header, at, sizeof(header));
	at += sizeof(header);
	assert_memory_equal(&header.magic, "PLCHOUSE", 8);
	assert_int_equal(header.version, 4);
	for (size_t i = 0; i < REQUESTS; i++) {
		struct pilotlight_clickhouse_request request;

		assert_true((size_t)(end - at) >= sizeof(request));
		memcpy(&request, at, sizeof(request));
		at += sizeof(request);
		assert_true(request.body_bytes <= (size_t)(end - at));
		if (i == IDENTITY)
			copy_body(&batch->requests[i], at, request.body_bytes);
		else if (request.body_bytes > 0)
			inflate_body(&batch->requests[i], at, request.body_bytes);
		at += request.body_bytes;
		if (i > IDENTITY && request.body_bytes > 0)
			read_rows(i, &batch->requests[i]);
	}
	assert_ptr_equal(at, end);
}

static void batch_done(struct batch *batch)
{
	free(batch->bytes);
	for (size_t i = 0; i < REQUESTS; i++) {
		free(batch->requests[i].plain);
		free(batch->requests[i].rows);
	}
}
