/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "send/new_rows.h"

#include "base/array.h"
#include "client/row_binary.h"
#include "export/gzip.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

/* A minute of a busy host has some MB of rows. */
#define BODY_BYTES_MAX (32ULL << 20)

enum { PART_BYTES = 16 << 10, WINDOW_BITS_GZIP = 15 + 16 };

void new_rows_done(struct new_rows *rows)
{
	free(rows->body.bytes);
	free(rows->hashes);
	*rows = (struct new_rows){ 0 };
}

/* --- reading --- */

static int inflate_part(z_stream *stream, struct output_memory *plain)
{
	uint8_t part[PART_BYTES];
	int r = 0, status;

	do {
		stream->next_out = part;
		stream->avail_out = sizeof(part);
		status = inflate(stream, Z_NO_FLUSH);
		if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR)
			return -EBADMSG;
		if (stream->avail_out < sizeof(part))
			r = output_to_memory(plain, part, sizeof(part) - stream->avail_out);
		if (r < 0)
			return r;
	} while (stream->avail_out == 0);
	return status == Z_STREAM_END;
}

static int inflate_all(z_stream *stream, int fd, const struct clickhouse_request *request,
	struct output_memory *plain)
{
	uint8_t part[PART_BYTES];
	uint64_t at = 0;
	int r = 0;

	while (r == 0 && at < request->body_bytes) {
		const uint64_t left = request->body_bytes - at;
		const size_t room = left < sizeof(part) ? (size_t)left : sizeof(part);
		ssize_t size = pread(fd, part, room, (off_t)(request->body_at + at));

		if (size <= 0)
			return size < 0 ? -errno : -EBADMSG;
		at += (uint64_t)size;
		stream->next_in = part;
		stream->avail_in = (uInt)size;
		r = inflate_part(stream, plain);
	}
	return r < 0 ? r : r == 1 && at == request->body_bytes ? 0 : -EBADMSG;
}

static int read_body(int fd, const struct clickhouse_request *request, struct output_memory *plain)
{
	z_stream stream = { 0 };
	int r;

	if (inflateInit2(&stream, WINDOW_BITS_GZIP) != Z_OK)
		return -ENOMEM;
	r = inflate_all(&stream, fd, request, plain);
	(void)inflateEnd(&stream);
	return r;
}

/* --- rows --- */

static void skip_texts(struct row_reader *reader)
{
	for (size_t i = row_array(reader, 1); i > 0 && !reader->is_broken; i--)
		(void)row_text(reader);
}

static void skip_numbers(struct row_reader *reader, size_t bytes)
{
	const size_t count = row_array(reader, bytes);

	reader->at += count * bytes;
}

/* Behind the day and the host (pilotlight/clickhouse_schema.h). */
static void skip_row(enum clickhouse_insert insert, struct row_reader *reader)
{
	switch (insert) {
	case CLICKHOUSE_NAMES:
		(void)row_text(reader);
		(void)row_u64(reader);
		(void)row_u8(reader);
		skip_texts(reader);
		skip_texts(reader);
		skip_numbers(reader, sizeof(uint32_t));
		break;
	case CLICKHOUSE_LOCATIONS:
		(void)row_u64(reader);
		(void)row_text(reader);
		(void)row_u64(reader);
		(void)row_text(reader);
		(void)row_text(reader);
		break;
	case CLICKHOUSE_STACKS:
		(void)row_u64(reader);
		skip_numbers(reader, sizeof(uint64_t));
		break;
	default:
		reader->is_broken = true;
	}
}

static int add_hash(struct new_rows *rows, uint64_t hash)
{
	int r = ARRAY_RESERVE(rows->hashes, &rows->capacity, rows->count + 1, BODY_BYTES_MAX);

	if (r == 0)
		rows->hashes[rows->count++] = hash;
	return r;
}

/* Moves the rows that are not known to the beginning of `plain`. */
static int choose_rows(struct new_rows *rows, const struct clickhouse_request *request,
	const char *url, struct known_rows *known, struct output_memory *plain)
{
	struct row_reader reader = { .at = (uint8_t *)plain->bytes }, first;
	size_t kept = 0;
	uint16_t day;
	int r = 0;

	if (plain->size == 0)
		return -EBADMSG;
	reader.end = reader.at + plain->size;
	first = reader;
	day = row_u16(&first);
	known_rows_choose(known, url, day);
	while (r == 0 && row_reader_has_more(&reader)) {
		const uint8_t *begin = reader.at, *named;
		const bool is_of_day = row_u16(&reader) == day;
		uint64_t hash;

		(void)row_text(&reader);
		named = reader.at;
		skip_row(request->insert, &reader);
		if (reader.is_broken || !is_of_day)
			return -EBADMSG;
		hash = known_rows_hash(known, named, (size_t)(reader.at - named));
		if (known_rows_has(known, hash))
			continue;
		memmove(plain->bytes + kept, begin, (size_t)(reader.at - begin));
		kept += (size_t)(reader.at - begin);
		r = add_hash(rows, hash);
	}
	plain->size = kept;
	return r;
}

static int write_body(struct new_rows *rows, const struct output_memory *plain)
{
	_cleanup_free_ struct output *packed = malloc(sizeof(*packed));
	_cleanup_(gzip_freep) struct gzip *gzip = NULL;
	int r;

	if (!packed)
		return -ENOMEM;
	rows->body.limit_bytes = BODY_BYTES_MAX;
	output_init(packed, output_to_memory, &rows->body);
	r = gzip_new(packed, &gzip);
	if (r == 0)
		r = gzip_write(gzip, plain->bytes, plain->size);
	if (r == 0)
		r = gzip_finish(gzip);
	return r == 0 ? output_finish(packed) : r;
}

int new_rows_take(struct new_rows *rows, const struct clickhouse_request *request, int fd,
	const char *url, struct known_rows *known)
{
	struct output_memory plain = { .limit_bytes = BODY_BYTES_MAX };
	int r = read_body(fd, request, &plain);

	if (r == 0)
		r = choose_rows(rows, request, url, known, &plain);
	if (r == 0 && rows->count > 0)
		r = write_body(rows, &plain);
	free(plain.bytes);
	return r;
}

void new_rows_note(const struct new_rows *rows, struct known_rows *known)
{
	for (size_t i = 0; i < rows->count; i++)
		known_rows_add(known, rows->hashes[i]);
}
