/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Columns of integers and bytes, packed into one compressed blob and out of it again. Version 1
 * (I9):
 *
 *	1 byte    version
 *	zstd      one frame that tells its content's size, which is at most COLUMN_BLOB_PLAIN_MAX:
 *	            varint            columns
 *	            varint[columns]   the size of each in bytes
 *	            bytes             the columns, one after the other
 *
 * Integers are LEB128 of at most ten bytes; signed differences are zigzag-coded before. What a
 * column means is its user's affair. A blob may come from a damaged file (I8): the reader reads
 * nothing outside of it and remembers that it was asked for more than there was.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	COLUMN_BLOB_VERSION = 1,
	COLUMN_BLOB_COLUMNS_MAX = 24,
	COLUMN_BLOB_PLAIN_MAX = 16 << 20,
};

struct column {
	uint8_t *bytes;
	size_t size, capacity;
};

/* The first error sticks; column_writer_finish() tells it. */
struct column_writer {
	struct column columns[COLUMN_BLOB_COLUMNS_MAX];
	unsigned int count;
	int error;
};

/* `count` columns, all empty. */
void column_writer_init(struct column_writer *writer, unsigned int count);
void column_writer_done(struct column_writer *writer);

void column_put(struct column_writer *writer, unsigned int column, uint64_t value);
/* The difference, modulo 2^64. */
void column_put_difference(
	struct column_writer *writer, unsigned int column, uint64_t from, uint64_t to);
void column_put_bytes(
	struct column_writer *writer, unsigned int column, const void *bytes, size_t size);

/* Of all columns so far, before compression. */
size_t column_writer_bytes(const struct column_writer *writer);

/*
 * Returns 0 and the blob, to be freed by the caller; -ENOMEM; -E2BIG where it exceeds
 * COLUMN_BLOB_PLAIN_MAX. What was put is gone afterwards, but for -E2BIG.
 */
int column_writer_finish(
	struct column_writer *writer, int level, uint8_t **ret_blob, size_t *ret_size);

struct column_reader {
	uint8_t *plain; /* owned */
	struct column_cursor {
		const uint8_t *next, *end;
	} columns[COLUMN_BLOB_COLUMNS_MAX];
	bool is_damaged;
};

/*
 * What a blob will take unpacked, which is at most COLUMN_BLOB_PLAIN_MAX. Returns 0, -EBADMSG or
 * -EPROTONOSUPPORT.
 */
int column_blob_measure(const void *blob, size_t size, size_t *ret_plain_size);

/*
 * Unpacks a blob that must have exactly `count` columns; it may go afterwards. Returns 0, -ENOMEM,
 * -EBADMSG (damaged) or -EPROTONOSUPPORT (of another version).
 */
int column_reader_init(
	struct column_reader *reader, unsigned int count, const void *blob, size_t size);
void column_reader_done(struct column_reader *reader);

uint64_t column_get_long(struct column_reader *reader, unsigned int column);

/* The next value; 0 and is_damaged at the end of the column. Nearly all are of one byte. */
static inline uint64_t column_get(struct column_reader *reader, unsigned int column)
{
	struct column_cursor *cursor = &reader->columns[column];

	if (cursor->next < cursor->end && *cursor->next < 0x80)
		return *cursor->next++;
	return column_get_long(reader, column);
}

uint64_t column_get_difference(struct column_reader *reader, unsigned int column, uint64_t from);
/* A value below `limit`; others are damage, and 0. */
uint32_t column_get_below(struct column_reader *reader, unsigned int column, uint64_t limit);
/* Borrowed bytes, or NULL and is_damaged. */
const uint8_t *column_get_bytes(struct column_reader *reader, unsigned int column, size_t size);

/* How many bytes are left: no column has more values than that. */
size_t column_left(const struct column_reader *reader, unsigned int column);
/* Has every column been read to its end, with nothing wrong? */
bool column_reader_is_whole(const struct column_reader *reader);
