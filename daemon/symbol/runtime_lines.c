/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/runtime_lines.h"

#include "pilotlight/runtime_hotspot.h"
#include "pilotlight/runtime_v8.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

enum {
	UNIT_BYTES = 2,
	NO_LINE = -128, /* of RANGES */
	/* LOCATIONS: an entry begins with a byte of START, a form and a length. */
	START = 0x80,
	FORM_SHIFT = 3,
	FORM_MASK = 0xf,
	LENGTH_MASK = 7,
	FORM_SHORT_END = 10, /* below: the line of the entry before */
	FORM_SAME_END = 13,  /* below: so many lines behind it, less FORM_SHORT_END */
	FORM_NO_COLUMN = 13, /* a number follows */
	FORM_LONG = 14,	     /* a number and more follow */
	FORM_NONE = 15,	     /* no line */
	DIGIT_BITS = 6,
	DIGIT_MASK = (1 << DIGIT_BITS) - 1,
	DIGIT_MORE = 1 << DIGIT_BITS,
	DIGITS_BITS_MAX = 30,
	LINE_MAX = 1 << 24,
	BYTE_BITS = 8,
	/* BYTECODES: a byte has both differences, or two numbers follow. */
	PAIR_ESCAPE = 0xff,
	PAIR_SHIFT = 3,
	PAIR_MASK = 7,
	CODE_MORE = 192, /* a byte of a number from here on has a successor */
	CODE_BITS = 6,
	CODE_BYTES_MAX = 5,
};

/* A line outside of all files is none. */
static uint32_t line_of(int64_t line)
{
	return line > 0 && line < LINE_MAX ? (uint32_t)line : 0;
}

/* Pairs of bytes: how long the range is, in bytes, and the difference to the line before. See
 * Objects/lnotab_notes.txt of CPython 3.10. */
static uint32_t find_in_ranges(const uint8_t *table, size_t size, int64_t line, uint64_t unit)
{
	uint64_t end = 0;

	for (size_t i = 0; i + 1 < size; i += 2) {
		int8_t difference = (int8_t)table[i + 1];

		end += table[i];
		if (difference != NO_LINE)
			line += difference;
		if (unit * UNIT_BYTES < end)
			return difference == NO_LINE ? 0 : line_of(line);
	}
	return 0;
}

/* Pairs of bytes: how far the next line begins behind the one before, in bytes, and the difference
 * of their lines. See Objects/lnotab_notes.txt of CPython 3.8. */
static uint32_t find_in_steps(const uint8_t *table, size_t size, int64_t line, uint64_t unit)
{
	uint64_t start = 0;

	for (size_t i = 0; i + 1 < size; i += 2) {
		start += table[i];
		if (start > unit * UNIT_BYTES)
			break;
		line += (int8_t)table[i + 1];
	}
	return line_of(line);
}

/* Reads a number of six bits a byte, the lowest first; bit 0 is its sign. Stops at the end of the
 * table, or of the entry. */
static int64_t read_number(const uint8_t *table, size_t size, size_t at)
{
	uint64_t number = 0;

	for (uint32_t shift = 0; at < size && !(table[at] & START) && shift <= DIGITS_BITS_MAX;
		shift += DIGIT_BITS) {
		number |= (uint64_t)(table[at] & DIGIT_MASK) << shift;
		if (!(table[at++] & DIGIT_MORE))
			break;
	}
	return number & 1 ? -(int64_t)(number >> 1) : (int64_t)(number >> 1);
}

/* Entries of one byte, with a form and a length in instructions, and what the form needs. See
 * InternalDocs/code_objects.md of CPython. */
static uint32_t find_in_locations(const uint8_t *table, size_t size, int64_t line, uint64_t unit)
{
	uint64_t end = 0;

	for (size_t i = 0; i < size;) {
		uint32_t form = table[i] >> FORM_SHIFT & FORM_MASK;

		end += (table[i] & LENGTH_MASK) + 1;
		if (form == FORM_NO_COLUMN || form == FORM_LONG)
			line += read_number(table, size, i + 1);
		else if (form >= FORM_SHORT_END && form < FORM_SAME_END)
			line += form - FORM_SHORT_END;
		if (unit < end)
			return form == FORM_NONE ? 0 : line_of(line);
		do
			i++;
		while (i < size && !(table[i] & START));
	}
	return 0;
}

static uint64_t word_at(const uint8_t *bytes)
{
	uint64_t word;

	memcpy(&word, bytes, sizeof(word));
	return word;
}

/* How many entries begin up to this position, as succ_index_lookup() in Ruby's iseq.c. */
static uint64_t count_in_index(const uint8_t *index, uint32_t unit)
{
	enum { RANK_BITS = 7, SMALL_RANK_BITS = 9, SMALL_POSITIONS = 64, SMALL_RANKS_AT = 8 };
	enum { BITS_AT = 16, WORD_BYTES = 8 };
	uint32_t word = PILOTLIGHT_RUNTIME_INDEX_WORD_POSITIONS;
	uint32_t block = PILOTLIGHT_RUNTIME_INDEX_BLOCK_POSITIONS, small;
	uint64_t count, bits;

	if (unit < PILOTLIGHT_RUNTIME_INDEX_POSITIONS)
		return word_at(index + (size_t)(unit / word) * WORD_BYTES) >>
			       unit % word * RANK_BITS &
		       ((1 << RANK_BITS) - 1);
	unit -= PILOTLIGHT_RUNTIME_INDEX_POSITIONS;
	index += PILOTLIGHT_RUNTIME_INDEX_POSITIONS / word * WORD_BYTES;
	index += (size_t)(unit / block) * PILOTLIGHT_RUNTIME_INDEX_BLOCK_BYTES;
	small = unit % block / SMALL_POSITIONS;
	count = word_at(index) & UINT32_MAX;
	if (small > 0)
		count += word_at(index + SMALL_RANKS_AT) >> (small - 1) * SMALL_RANK_BITS &
			 ((1 << SMALL_RANK_BITS) - 1);
	bits = word_at(index + BITS_AT + (size_t)small * WORD_BYTES);
	return count + (uint64_t)__builtin_popcountll(
			       bits << (SMALL_POSITIONS - 1 - unit % SMALL_POSITIONS));
}

/* The line of the last entry that begins up to this position. */
static uint32_t find_in_positions(const uint8_t *table, size_t size, uint32_t unit)
{
	struct pilotlight_runtime_positions head;
	uint64_t entry;
	size_t index_bytes;
	int32_t line;

	if (size < sizeof(head))
		return 0;
	memcpy(&head, table, sizeof(head));
	index_bytes = pilotlight_runtime_index_bytes(head.units);
	size -= sizeof(head);
	table += sizeof(head);
	if (unit >= head.units || index_bytes > PILOTLIGHT_RUNTIME_INDEX_MAX || size < index_bytes)
		return 0;
	entry = count_in_index(table, unit) - 1;
	size -= index_bytes;
	table += index_bytes;
	if (size < sizeof(line) || head.entry_bytes == 0 ||
		entry > (size - sizeof(line)) / head.entry_bytes)
		return 0;
	memcpy(&line, table + entry * head.entry_bytes, sizeof(line));
	return line_of(line);
}

/* A number as UNSIGNED5 of HotSpot has it, bit 0 is its sign. Moves *at behind it. */
static int64_t read_compressed(const uint8_t *table, size_t size, size_t *at, uint32_t excluded)
{
	uint64_t number = 0;

	for (uint32_t i = 0; i < CODE_BYTES_MAX && *at < size; i++) {
		uint8_t byte = table[(*at)++];

		number += (uint64_t)(byte - excluded) << i * CODE_BITS;
		if (byte < CODE_MORE)
			break;
	}
	number &= UINT32_MAX;
	return number & 1 ? -(int64_t)(number >> 1) - 1 : (int64_t)(number >> 1);
}

/*
 * Pairs: how far the bytecode, and the line, is behind the one before. They are not sorted. The
 * first one is the method's if no bytecode is asked for. The table is the rest of a struct
 * pilotlight_hotspot_table, and the pairs.
 */
static uint32_t find_in_bytecodes(const uint8_t *table, size_t size, int64_t wanted)
{
	const size_t begin = sizeof(struct pilotlight_hotspot_table) -
			     offsetof(struct pilotlight_hotspot_table, has_no_zeros);
	uint32_t excluded = size > begin ? table[0] : 0;
	int64_t at_bytecode = 0, line = 0, best_bytecode = -1, best = 0;

	for (size_t at = begin; at < size && table[at] != 0;) {
		uint8_t pair = table[at++];

		if (pair == PAIR_ESCAPE) {
			at_bytecode += read_compressed(table, size, &at, excluded);
			line += read_compressed(table, size, &at, excluded);
		} else {
			at_bytecode += pair >> PAIR_SHIFT;
			line += pair & PAIR_MASK;
		}
		if (wanted < 0 || at_bytecode == wanted)
			return line_of(line);
		if (at_bytecode < wanted && at_bytecode >= best_bytecode) {
			best_bytecode = at_bytecode;
			best = line;
		}
	}
	return line_of(best);
}

/* By the marks of the line ends between the function's place and the wanted one. Behind them the
 * first line stands for all. */
static uint32_t find_in_line_ends(const uint8_t *table, size_t size, int64_t line, uint32_t place)
{
	const size_t begin = offsetof(struct pilotlight_v8_lines, marks);
	uint64_t count;

	if (line <= 0 || size < begin)
		return 0;
	count = place - word_at(table);
	table += begin;
	if (count > place || count / BYTE_BITS >= size - begin)
		return line_of(line);
	for (; count >= BYTE_BITS; count -= BYTE_BITS)
		line += __builtin_popcount(*table++);
	return line_of(line + __builtin_popcount(*table & ((1U << count) - 1)));
}

uint32_t runtime_lines_find(enum pilotlight_runtime_lines kind, const uint8_t *table, size_t size,
	int32_t first_line, int32_t unit)
{
	if (kind == PILOTLIGHT_RUNTIME_BYTECODES)
		return find_in_bytecodes(table, size, unit);
	if (unit < 0)
		return line_of(first_line);
	switch (kind) {
	case PILOTLIGHT_RUNTIME_RANGES:
		return find_in_ranges(table, size, first_line, (uint32_t)unit);
	case PILOTLIGHT_RUNTIME_STEPS:
		return find_in_steps(table, size, first_line, (uint32_t)unit);
	case PILOTLIGHT_RUNTIME_LOCATIONS:
		return find_in_locations(table, size, first_line, (uint32_t)unit);
	case PILOTLIGHT_RUNTIME_POSITIONS:
		return find_in_positions(table, size, (uint32_t)unit);
	case PILOTLIGHT_RUNTIME_LINE_ENDS:
		return find_in_line_ends(table, size, first_line, (uint32_t)unit);
	case PILOTLIGHT_RUNTIME_LINE_NUMBERS:
		return line_of(unit);
	default:
		return 0;
	}
}
