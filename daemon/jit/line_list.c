/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An entry is two to four numbers: the steps of offset, line, column and file. Two low bits of the
 * first say whether column and file follow. Steps except the first are modulo 2^32 and
 * zigzag-coded, so that small ones in both directions take one byte.
 */
#include "jit/line_list.h"

#include <string.h>

enum {
	HAS_COLUMN = 1 << 0,
	HAS_FILE = 1 << 1,
	FLAG_BITS = 2,
	NUMBER_BYTES_MAX = 5, /* 34 bits */
};
_Static_assert(LINE_ENTRY_BYTES_MAX == 4 * NUMBER_BYTES_MAX, "four numbers an entry");
_Static_assert(sizeof(struct line_entry) <= LINE_ENTRY_BYTES_MAX, "room for sorting");

static uint32_t zigzag(uint32_t step)
{
	return (step << 1) ^ (0 - (step >> 31));
}

static uint32_t unzigzag(uint32_t code)
{
	return (code >> 1) ^ (0 - (code & 1));
}

static size_t put_number(uint8_t *bytes, uint64_t number)
{
	size_t size = 0;

	for (; number >= 0x80; number >>= 7)
		bytes[size++] = (uint8_t)(number | 0x80);
	bytes[size++] = (uint8_t)number;
	return size;
}

static bool get_number(const uint8_t *bytes, size_t size, size_t *at, uint64_t *ret_number)
{
	uint64_t number = 0;

	for (unsigned i = 0; i < NUMBER_BYTES_MAX; i++) {
		if (*at >= size)
			return false;
		number |= (uint64_t)(bytes[*at] & 0x7f) << (7 * i);
		if (!(bytes[(*at)++] & 0x80)) {
			*ret_number = number;
			return true;
		}
	}
	return false;
}

static bool get_step(const uint8_t *bytes, size_t size, size_t *at, uint32_t *value)
{
	uint64_t number;

	if (!get_number(bytes, size, at, &number) || number > UINT32_MAX)
		return false;
	*value += unzigzag((uint32_t)number);
	return true;
}

/* Merges the sorted runs [start, middle) and [middle, end); `left` has room for the first. */
static void merge_runs(
	struct line_entry *entries, size_t start, size_t middle, size_t end, uint8_t *left)
{
	const size_t left_count = middle - start;
	size_t i = 0, j = middle, k = start;
	struct line_entry first;

	memcpy(left, entries + start, left_count * sizeof(*entries));
	while (i < left_count) {
		memcpy(&first, left + i * sizeof(first), sizeof(first));
		if (j < end && entries[j].offset < first.offset) {
			entries[k++] = entries[j++];
		} else {
			entries[k++] = first;
			i++;
		}
	}
}

static bool is_sorted(const struct line_entry *entries, size_t count)
{
	for (size_t i = 1; i < count; i++)
		if (entries[i].offset < entries[i - 1].offset)
			return false;
	return true;
}

/* Must be stable, as of equal offsets the last counts: qsort() is not. */
static void sort_entries(struct line_entry *entries, size_t count, uint8_t *scratch)
{
	if (is_sorted(entries, count))
		return;
	for (size_t run = 1; run < count; run *= 2)
		for (size_t start = 0; start + run < count; start += 2 * run) {
			size_t middle = start + run;
			size_t end = count - middle > run ? middle + run : count;

			merge_runs(entries, start, middle, end, scratch);
		}
}

static size_t put_entry(
	uint8_t *bytes, const struct line_entry *before, const struct line_entry *entry)
{
	const uint32_t column = zigzag(entry->column - before->column);
	const uint32_t file = zigzag(entry->file - before->file);
	const unsigned flags = (column ? HAS_COLUMN : 0) | (file ? HAS_FILE : 0);
	size_t size;

	size = put_number(bytes, (uint64_t)(entry->offset - before->offset) << FLAG_BITS | flags);
	size += put_number(bytes + size, zigzag(entry->line - before->line));
	if (column)
		size += put_number(bytes + size, column);
	if (file)
		size += put_number(bytes + size, file);
	return size;
}

size_t line_list_pack(struct line_entry *entries, size_t count, uint8_t *bytes)
{
	struct line_entry before = { 0 };
	size_t size = 0;

	sort_entries(entries, count, bytes);
	for (size_t i = 0; i < count; i++) {
		struct line_entry entry = entries[i];

		if (i + 1 < count && entries[i + 1].offset == entry.offset)
			continue;
		if (entry.line == 0)
			entry.column = entry.file = 0;
		if (entry.line == before.line && entry.column == before.column &&
			entry.file == before.file)
			continue;
		size += put_entry(bytes + size, &before, &entry);
		before = entry;
	}
	return size;
}

bool line_list_next(const uint8_t *bytes, size_t size, struct line_cursor *cursor)
{
	struct line_entry entry = cursor->entry;
	size_t at = cursor->at;
	uint64_t number;

	if (!get_number(bytes, size, &at, &number))
		return false;
	if (number >> FLAG_BITS > UINT32_MAX - entry.offset)
		return false;
	entry.offset += (uint32_t)(number >> FLAG_BITS);
	if (!get_step(bytes, size, &at, &entry.line))
		return false;
	if ((number & HAS_COLUMN) && !get_step(bytes, size, &at, &entry.column))
		return false;
	if ((number & HAS_FILE) && !get_step(bytes, size, &at, &entry.file))
		return false;
	cursor->at = at;
	cursor->entry = entry;
	return true;
}

bool line_list_find(
	const uint8_t *bytes, size_t size, uint32_t offset, struct line_entry *ret_entry)
{
	struct line_cursor cursor = { 0 };
	struct line_entry found = { 0 };

	while (line_list_next(bytes, size, &cursor) && cursor.entry.offset <= offset)
		found = cursor.entry;
	if (found.line == 0)
		return false;
	*ret_entry = found;
	return true;
}
