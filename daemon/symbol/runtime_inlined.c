/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/runtime_inlined.h"

#include "pilotlight/runtime_v8.h"
#include "symbol/runtime_bytecodes.h"

#include <stdbool.h>
#include <string.h>

enum {
	WORD_BYTES = 8,
	DIGIT_BITS = 7,
	DIGIT_MORE = 1 << DIGIT_BITS,
	DIGITS_BITS_MAX = 63,
	INLINING_MASK = (1 << PILOTLIGHT_V8_POSITION_INLINING_BITS) - 1,
	PLACE_MASK = (1 << PILOTLIGHT_V8_POSITION_PLACE_BITS) - 1,
};

struct table {
	struct pilotlight_v8_inlined head;
	const uint8_t *functions, *inlinings, *positions;
	const uint8_t *end;
};

static uint64_t word_at(const uint8_t *words, size_t at)
{
	uint64_t word;

	memcpy(&word, words + at * WORD_BYTES, sizeof(word));
	return word;
}

static bool read_table(const uint8_t *bytes, size_t size, struct table *ret_table)
{
	struct table table;
	size_t rest = size;

	if (size < sizeof(table.head))
		return false;
	memcpy(&table.head, bytes, sizeof(table.head));
	rest -= sizeof(table.head);
	if (table.head.functions == 0 ||
		rest / WORD_BYTES < (size_t)table.head.functions + table.head.inlinings)
		return false;
	table.functions = bytes + sizeof(table.head);
	table.inlinings = table.functions + (size_t)table.head.functions * WORD_BYTES;
	table.positions = table.inlinings + (size_t)table.head.inlinings * WORD_BYTES;
	table.end = bytes + size;
	if (table.head.position_bytes > (size_t)(table.end - table.positions))
		return false;
	*ret_table = table;
	return true;
}

/* Returns false at the end of the table. Its last number may be cut. */
static bool read_number(const struct table *table, size_t *at, int64_t *ret_number)
{
	uint64_t number = 0;

	for (uint32_t shift = 0; shift <= DIGITS_BITS_MAX; shift += DIGIT_BITS) {
		uint8_t byte;

		if (*at >= table->head.position_bytes)
			return false;
		byte = table->positions[(*at)++];
		number |= (uint64_t)(byte & (DIGIT_MORE - 1)) << shift;
		if (!(byte & DIGIT_MORE)) {
			*ret_number = (int64_t)(number >> 1 ^ (0 - (number & 1)));
			return true;
		}
	}
	return false;
}

/*
 * The position of the last entry that begins up to the instruction; 0: there is none, or the table
 * is cut before the next one. The first entry counts from before the code. A negative distance is
 * that to no statement, from -1 on downwards.
 */
static uint64_t find_position(const struct table *table, int64_t unit)
{
	bool is_whole = table->head.position_bytes < PILOTLIGHT_V8_POSITION_BYTES_MAX;
	uint64_t position = 0, found = 0;
	int64_t begin = -1, distance, difference;

	for (size_t at = 0;;) {
		if (!read_number(table, &at, &distance) || !read_number(table, &at, &difference))
			return is_whole ? found : 0;
		if (distance < 0)
			distance = -(distance + 1);
		if (distance > INT32_MAX || begin > INT32_MAX)
			return 0;
		begin += distance;
		if (begin > unit)
			return found;
		position += (uint64_t)difference;
		found = position;
	}
}

static size_t whole_words(size_t bytes)
{
	return (bytes + WORD_BYTES - 1) / WORD_BYTES * WORD_BYTES;
}

/* The bytecode of an instruction, if the table is of bytecodes and they follow; -1: not known. */
static int32_t find_bytecode(const struct table *table, int32_t unit)
{
	size_t rest = (size_t)(table->end - table->positions);
	size_t at = whole_words(table->head.position_bytes);
	struct pilotlight_v8_baseline lengths;
	struct runtime_bytecodes code;

	if (table->head.version == 0)
		return unit;
	if (rest < at + sizeof(lengths))
		return -1;
	memcpy(&lengths, table->positions + at, sizeof(lengths));
	code.table = table->positions + at + sizeof(lengths);
	rest -= at + sizeof(lengths);
	if (whole_words(lengths.table_bytes) > rest ||
		lengths.bytecode_bytes > rest - whole_words(lengths.table_bytes))
		return -1;
	code.table_bytes = lengths.table_bytes;
	code.bytecodes = code.table + whole_words(lengths.table_bytes);
	code.bytecode_bytes = lengths.bytecode_bytes;
	return runtime_bytecodes_find(table->head.version, &code, unit);
}

/* The place of a position; negative: it has none. */
static int32_t place_of(uint64_t position)
{
	return (int32_t)(position >> PILOTLIGHT_V8_POSITION_PLACE_SHIFT & PLACE_MASK) - 1;
}

size_t runtime_inlined_find(const uint8_t *bytes, size_t size, int32_t unit,
	struct runtime_inlined_frame ret_frames[RUNTIME_INLINED_MAX])
{
	struct table table;
	uint64_t position;
	size_t count = 0, last = SIZE_MAX;

	if (!read_table(bytes, size, &table))
		return 0;
	unit = find_bytecode(&table, unit);
	position = unit < 0 ? 0 : find_position(&table, unit);
	ret_frames[0] = (struct runtime_inlined_frame){ word_at(table.functions, 0), -1 };
	while (count < RUNTIME_INLINED_MAX) {
		size_t inlining = position >> PILOTLIGHT_V8_POSITION_INLINING_SHIFT & INLINING_MASK;
		size_t function = 0;
		uint64_t word = 0;

		/* Callers come before what they call: nothing leads in a circle. */
		if (position & PILOTLIGHT_V8_POSITION_EXTERNAL || inlining > table.head.inlinings ||
			inlining >= last)
			break;
		if (inlining > 0) {
			word = word_at(table.inlinings, inlining - 1);
			function = word >> PILOTLIGHT_V8_INLINING_FUNCTION_SHIFT;
		}
		if (function >= table.head.functions)
			break;
		ret_frames[count++] =
			(struct runtime_inlined_frame){ word_at(table.functions, function),
				place_of(position) };
		if (inlining == 0)
			return count;
		last = inlining;
		position = word & ((1ULL << PILOTLIGHT_V8_INLINING_FUNCTION_SHIFT) - 1);
	}
	ret_frames[0] = (struct runtime_inlined_frame){ word_at(table.functions, 0), -1 };
	return 1;
}
