/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The source lines of one JIT function, packed into some four bytes each: differences to the entry
 * before, in LEB128. An entry covers the code from its offset to that of the next entry. Files are
 * ids that the caller chooses.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct line_entry {
	uint32_t offset; /* from the code's start */
	uint32_t line;	 /* 0: no line is known from here on */
	uint32_t column; /* 0: unknown */
	uint32_t file;	 /* 0: unknown */
};

/* The maximum of one entry. */
enum { LINE_ENTRY_BYTES_MAX = 20 };

/*
 * Sorts `count` entries by offset and packs them. Of entries with the same offset the last counts;
 * one that repeats the entry before is left out. `bytes` has LINE_ENTRY_BYTES_MAX for each entry.
 * Returns the bytes used.
 */
size_t line_list_pack(struct line_entry *entries, size_t count, uint8_t *bytes);

/* The last entry at or before `offset`; any bytes are safe. False: none, or its line is 0. */
bool line_list_find(
	const uint8_t *bytes, size_t size, uint32_t offset, struct line_entry *ret_entry);

/* The next entry; `*cursor` starts as {0}. False at the end. */
struct line_cursor {
	size_t at;
	struct line_entry entry;
};
bool line_list_next(const uint8_t *bytes, size_t size, struct line_cursor *cursor);
