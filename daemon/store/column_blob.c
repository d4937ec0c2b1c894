/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/column_blob.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "store/varint.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

void column_writer_init(struct column_writer *writer, unsigned int count)
{
	assert(count <= COLUMN_BLOB_COLUMNS_MAX);
	*writer = (struct column_writer){ .count = count };
}

void column_writer_done(struct column_writer *writer)
{
	for (unsigned int i = 0; i < COLUMN_BLOB_COLUMNS_MAX; i++)
		free(writer->columns[i].bytes);
	*writer = (struct column_writer){ 0 };
}

void column_put_bytes(
	struct column_writer *writer, unsigned int column, const void *bytes, size_t size)
{
	struct column *to = &writer->columns[column];

	assert(column < writer->count);
	if (writer->error == 0)
		writer->error = ARRAY_RESERVE(
			to->bytes, &to->capacity, to->size + size, COLUMN_BLOB_PLAIN_MAX);
	if (writer->error < 0 || size == 0)
		return;
	memcpy(to->bytes + to->size, bytes, size);
	to->size += size;
}

void column_put(struct column_writer *writer, unsigned int column, uint64_t value)
{
	uint8_t bytes[VARINT_BYTES_MAX];

	column_put_bytes(writer, column, bytes, varint_put(bytes, value));
}

void column_put_difference(
	struct column_writer *writer, unsigned int column, uint64_t from, uint64_t to)
{
	uint64_t difference = to - from;

	column_put(writer, column, difference << 1 ^ (difference >> 63 ? UINT64_MAX : 0));
}

size_t column_writer_bytes(const struct column_writer *writer)
{
	size_t sum = 0;

	for (unsigned int i = 0; i < writer->count; i++)
		sum += writer->columns[i].size;
	return sum;
}

/* Builds the plain content: the head, then the columns. Frees each column once copied. */
static int join(struct column_writer *writer, uint8_t **ret_plain, size_t *ret_size)
{
	uint8_t head[(COLUMN_BLOB_COLUMNS_MAX + 1) * VARINT_BYTES_MAX];
	size_t size = varint_put(head, writer->count), total;
	uint8_t *plain;

	for (unsigned int i = 0; i < writer->count; i++)
		size += varint_put(head + size, writer->columns[i].size);
	total = size + column_writer_bytes(writer);
	if (total > COLUMN_BLOB_PLAIN_MAX)
		return -E2BIG;
	plain = malloc(total);
	if (!plain)
		return -ENOMEM;
	memcpy(plain, head, size);
	for (unsigned int i = 0; i < writer->count; i++) {
		struct column *column = &writer->columns[i];

		if (column->size > 0)
			memcpy(plain + size, column->bytes, column->size);
		size += column->size;
		free(column->bytes);
		*column = (struct column){ 0 };
	}
	*ret_plain = plain;
	*ret_size = total;
	return 0;
}

/*
 * Like ZSTD_compress(), with tables of half a MiB for every size and level. Its own choice for 1
 * MiB of input takes several MiB. Returns 0 or -ENOMEM.
 */
static int compress(
	uint8_t *to, size_t room, const uint8_t *plain, size_t size, int level, size_t *ret_size)
{
	ZSTD_CCtx *context = ZSTD_createCCtx();
	size_t compressed;

	if (!context)
		return -ENOMEM;
	(void)ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, level);
	(void)ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, 18);
	(void)ZSTD_CCtx_setParameter(context, ZSTD_c_hashLog, 16);
	(void)ZSTD_CCtx_setParameter(context, ZSTD_c_chainLog, 16);
	compressed = ZSTD_compress2(context, to, room, plain, size);
	(void)ZSTD_freeCCtx(context);
	if (ZSTD_isError(compressed))
		return -ENOMEM;
	*ret_size = compressed;
	return 0;
}

int column_writer_finish(
	struct column_writer *writer, int level, uint8_t **ret_blob, size_t *ret_size)
{
	_cleanup_free_ uint8_t *plain = NULL, *blob = NULL;
	size_t plain_size, bound, size;
	int r;

	if (writer->error < 0)
		return writer->error;
	r = join(writer, &plain, &plain_size);
	if (r < 0)
		return r;
	bound = ZSTD_compressBound(plain_size);
	blob = malloc(1 + bound);
	if (!blob)
		return -ENOMEM;
	blob[0] = COLUMN_BLOB_VERSION;
	r = compress(blob + 1, bound, plain, plain_size, level, &size);
	if (r < 0)
		return r;
	*ret_blob = TAKE_PTR(blob);
	*ret_size = 1 + size;
	return 0;
}

/* Parses the head of the plain content: the position of each column. */
static int find_columns(
	struct column_reader *reader, unsigned int least, unsigned int most, size_t size)
{
	struct column_cursor *head = &reader->columns[0];
	uint64_t sizes[COLUMN_BLOB_COLUMNS_MAX];
	const uint8_t *next;
	uint64_t count;

	*head = (struct column_cursor){ reader->plain, reader->plain + size };
	count = column_get(reader, 0);
	if (count < least || count > most)
		return -EBADMSG;
	reader->count = (unsigned int)count;
	for (unsigned int i = 0; i < count; i++)
		sizes[i] = column_get(reader, 0);
	if (reader->is_damaged)
		return -EBADMSG;
	next = head->next;
	for (unsigned int i = 0; i < count; i++) {
		if (sizes[i] > (uint64_t)(reader->plain + size - next))
			return -EBADMSG;
		reader->columns[i] = (struct column_cursor){ next, next + sizes[i] };
		next += sizes[i];
	}
	return next == reader->plain + size ? 0 : -EBADMSG;
}

int column_blob_measure(const void *blob, size_t size, size_t *ret_plain_size)
{
	const uint8_t *bytes = blob;
	unsigned long long plain_size;

	if (size < 1)
		return -EBADMSG;
	if (bytes[0] != COLUMN_BLOB_VERSION)
		return -EPROTONOSUPPORT;
	plain_size = ZSTD_getFrameContentSize(bytes + 1, size - 1);
	/* zstd returns unknown and erroneous sizes as the largest values. */
	if (plain_size == 0 || plain_size > COLUMN_BLOB_PLAIN_MAX)
		return -EBADMSG;
	*ret_plain_size = (size_t)plain_size;
	return 0;
}

int column_reader_init(
	struct column_reader *reader, unsigned int count, const void *blob, size_t size)
{
	return column_reader_init_range(reader, count, count, blob, size);
}

int column_reader_init_range(struct column_reader *reader, unsigned int least, unsigned int most,
	const void *blob, size_t size)
{
	size_t plain_size;
	int r = column_blob_measure(blob, size, &plain_size);

	assert(least > 0 && least <= most && most <= COLUMN_BLOB_COLUMNS_MAX);
	*reader = (struct column_reader){ 0 };
	if (r < 0)
		return r;
	reader->plain = malloc(plain_size);
	if (!reader->plain)
		return -ENOMEM;
	if (ZSTD_decompress(reader->plain, plain_size, (const uint8_t *)blob + 1, size - 1) !=
		plain_size)
		r = -EBADMSG;
	else
		r = find_columns(reader, least, most, plain_size);
	if (r < 0)
		column_reader_done(reader);
	return r;
}

void column_reader_done(struct column_reader *reader)
{
	free(reader->plain);
	*reader = (struct column_reader){ 0 };
}

uint64_t column_get_long(struct column_reader *reader, unsigned int column)
{
	struct column_cursor *cursor = &reader->columns[column];
	uint64_t value;

	if (varint_get(&cursor->next, cursor->end, &value))
		return value;
	reader->is_damaged = true;
	return 0;
}

uint64_t column_get_difference(struct column_reader *reader, unsigned int column, uint64_t from)
{
	uint64_t value = column_get(reader, column);

	return from + (value >> 1 ^ (value & 1 ? UINT64_MAX : 0));
}

uint32_t column_get_below(struct column_reader *reader, unsigned int column, uint64_t limit)
{
	uint64_t value = column_get(reader, column);

	if (value < limit && value <= UINT32_MAX)
		return (uint32_t)value;
	reader->is_damaged = true;
	return 0;
}

const uint8_t *column_get_bytes(struct column_reader *reader, unsigned int column, size_t size)
{
	struct column_cursor *cursor = &reader->columns[column];
	const uint8_t *bytes = cursor->next;

	if (size > column_left(reader, column)) {
		reader->is_damaged = true;
		return NULL;
	}
	cursor->next += size;
	return bytes;
}

size_t column_left(const struct column_reader *reader, unsigned int column)
{
	return (size_t)(reader->columns[column].end - reader->columns[column].next);
}

bool column_reader_is_whole(const struct column_reader *reader)
{
	for (unsigned int i = 0; i < COLUMN_BLOB_COLUMNS_MAX; i++)
		if (column_left(reader, i) > 0)
			return false;
	return !reader->is_damaged;
}
