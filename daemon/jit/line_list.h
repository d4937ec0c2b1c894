/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The source lines of one piece of JIT code, packed: each entry as differences from the one before,
 * in LEB128, some four bytes. Files are ids of the caller's. An entry is for the code from its
 * offset to the next entry's.
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

/* What one entry takes at most. */
enum { LINE_ENTRY_BYTES_MAX = 20 };

/*
 * Packs `count` entries, which it sorts by offset first: of several with one offset the last
 * counts, and one that says what the one before says is left out. `bytes` has LINE_ENTRY_BYTES_MAX
 * for each. Returns how many bytes it took.
 */
size_t line_list_pack(struct line_entry *entries, size_t count, uint8_t *bytes);

/* The last entry at or before `offset`. False: there is none, or its line is 0. Any bytes will do.
 */
bool line_list_find(
	const uint8_t *bytes, size_t size, uint32_t offset, struct line_entry *ret_entry);

/* Goes through the entries: `*cursor` starts as {0}. False: there are no more. */
struct line_cursor {
	size_t at;
	struct line_entry entry;
};
bool line_list_next(const uint8_t *bytes, size_t size, struct line_cursor *cursor);
