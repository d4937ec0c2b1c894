/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Packs columns of integers and bytes into one compressed blob, and unpacks them. Version 1 (I9):
 *
 *	1 byte    version
 *	zstd      one frame that states its content size, at most COLUMN_BLOB_PLAIN_MAX:
 *	            varint            columns
 *	            varint[columns]   the size of each in bytes
 *	            bytes             the columns, one after the other
 *
 * Integers are LEB128 of at most ten bytes; signed differences are zigzag-coded first. The caller
 * defines the meaning of each column. A blob may come from a damaged file (I8): the reader never
 * reads beyond it, and sets is_damaged if a caller asks for more than there is.
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

/* The first error sticks; column_writer_finish() returns it. */
struct column_writer {
	struct column columns[COLUMN_BLOB_COLUMNS_MAX];
	unsigned int count;
	int error;
};

/* Starts with `count` empty columns. */
void column_writer_init(struct column_writer *writer, unsigned int count);
void column_writer_done(struct column_writer *writer);

void column_put(struct column_writer *writer, unsigned int column, uint64_t value);
/* Puts the difference, modulo 2^64. */
void column_put_difference(
	struct column_writer *writer, unsigned int column, uint64_t from, uint64_t to);
void column_put_bytes(
	struct column_writer *writer, unsigned int column, const void *bytes, size_t size);

/* The size of all columns so far, before compression. */
size_t column_writer_bytes(const struct column_writer *writer);

/*
 * Returns 0 and a blob, which the caller frees; -ENOMEM; or -E2BIG beyond COLUMN_BLOB_PLAIN_MAX.
 * The columns are consumed, except on -E2BIG.
 */
int column_writer_finish(
	struct column_writer *writer, int level, uint8_t **ret_blob, size_t *ret_size);

struct column_reader {
	uint8_t *plain; /* owned */
	struct column_cursor {
		const uint8_t *next, *end;
	} columns[COLUMN_BLOB_COLUMNS_MAX];
	bool is_damaged;
	unsigned int count; /* of the blob's columns */
};

/*
 * Reads the unpacked size of a blob, at most COLUMN_BLOB_PLAIN_MAX. Returns 0, -EBADMSG or
 * -EPROTONOSUPPORT.
 */
int column_blob_measure(const void *blob, size_t size, size_t *ret_plain_size);

/*
 * Unpacks a blob of exactly `count` columns. The blob may be freed afterwards. Returns 0, -ENOMEM,
 * -EBADMSG (damaged) or -EPROTONOSUPPORT (another version).
 */
int column_reader_init(
	struct column_reader *reader, unsigned int count, const void *blob, size_t size);
/* The same for a blob of `least` to `most` columns; reader->count says how many it has. */
int column_reader_init_range(struct column_reader *reader, unsigned int least, unsigned int most,
	const void *blob, size_t size);
void column_reader_done(struct column_reader *reader);

uint64_t column_get_long(struct column_reader *reader, unsigned int column);

/*
 * Returns the next value, or 0 at the column's end, which sets is_damaged. Nearly all values take
 * one byte.
 */
static inline uint64_t column_get(struct column_reader *reader, unsigned int column)
{
	struct column_cursor *cursor = &reader->columns[column];

	if (cursor->next < cursor->end && *cursor->next < 0x80)
		return *cursor->next++;
	return column_get_long(reader, column);
}

uint64_t column_get_difference(struct column_reader *reader, unsigned int column, uint64_t from);
/* Returns a value below `limit`. Any other value counts as damage and reads as 0. */
uint32_t column_get_below(struct column_reader *reader, unsigned int column, uint64_t limit);
/* Returns borrowed bytes, or NULL and sets is_damaged. */
const uint8_t *column_get_bytes(struct column_reader *reader, unsigned int column, size_t size);

/* The number of bytes left, which bounds the number of values left. */
size_t column_left(const struct column_reader *reader, unsigned int column);
/* True if every column was read to its end without damage. */
bool column_reader_is_whole(const struct column_reader *reader);
