/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads values from an answer of ClickHouse in its format RowBinary: numbers are little-endian,
 * texts and arrays have their length before them, and nothing tells types or the ends of rows, so
 * the reader knows the columns. Behind the end of the bytes, or at a length that cannot be, all
 * values are zeros and the reader is broken (I8).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct row_reader {
	const uint8_t *at, *end; /* borrowed */
	bool is_broken;
};

struct row_text {
	const char *bytes; /* borrowed; any bytes, without a NUL at the end */
	size_t size;
};

/* Are there more rows? Not once it is broken. */
bool row_reader_has_more(const struct row_reader *reader);

uint8_t row_u8(struct row_reader *reader);
uint16_t row_u16(struct row_reader *reader);
uint32_t row_u32(struct row_reader *reader);
uint64_t row_u64(struct row_reader *reader);
double row_f64(struct row_reader *reader);
struct row_text row_text(struct row_reader *reader);
/* The number of elements of an array, which follow and take at least `element_bytes` each. */
size_t row_array(struct row_reader *reader, size_t element_bytes);
