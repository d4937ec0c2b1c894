/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The facts of a code index, found by address and time.
 *
 * Facts stand in one array in the order in which they arrived, so an id is also an age. Each is
 * linked into one chain of a hash table. The key is the size of its code, rounded up to a power of
 * four, and its address divided by that. Code is never larger than that unit, so it covers its own
 * unit and the next one at most: a question looks at two chains for each size in use. Within a
 * chain the newest fact comes first, which ends most walks at the first hit.
 *
 * A move is two facts: an end of the code at its old place, and a load at the new one. Owned by
 * the index.
 */
#pragma once

#include "jit/code_index.h"

#define CODE_NONE UINT32_MAX

enum {
	/* Facts that one question walks past, and newer facts that a late one walks past. They
	 * bound the CPU time that a hostile writer takes. */
	CODE_WALK_MAX = 4096,
	CODE_LATE_MAX = 256,
};

struct code_entry {
	uint64_t address, size;
	uint64_t time_ns;
	uint32_t next; /* of its chain: an older fact */
	uint32_t writer : 31;
	uint32_t is_moved : 1; /* an end of it is in its chain */
	uint32_t name;	       /* in the text; CODE_NONE: this is the end of another entry */
	union {
		uint32_t lines; /* in the text; CODE_NONE: none */
		uint32_t ended; /* the entry that ends */
	};
};

struct code_store {
	struct code_entry *entries;
	size_t count, capacity;
	uint32_t *chains;   /* the newest fact of each */
	size_t chain_count; /* a power of two, at least `count`; 0: none */
	uint64_t sizes;	    /* which are in use, a bit each */
	char *text;	    /* names with their NUL; lines after their size, a uint32_t */
	size_t text_size, text_capacity;
	size_t replaced; /* facts that began on top of an older one */
	/* Facts before this that a later one of their writer replaced may have been dropped. */
	uint64_t history_ns;
};

void code_store_done(struct code_store *store);

/* Makes room for facts and text. Returns 0 or -ENOMEM. */
int code_store_reserve(struct code_store *store, size_t entries, size_t text_bytes);
/* The memory that the store has after that. */
size_t code_store_bytes_after(const struct code_store *store, size_t entries, size_t text_bytes);

/* The text that a fact takes, with a name of `name_size` bytes. */
size_t code_store_text_bytes(size_t name_size, size_t lines_size);

/*
 * Adds a fact to reserved room: its name is clean UTF-8 with a NUL, or NULL for an end. False: more
 * than `late_max` facts of its chain are newer, and nothing was added.
 */
bool code_store_add(struct code_store *store, const struct code_entry *entry, const char *name,
	const uint8_t *lines, size_t lines_size, size_t late_max);

/* The code at an address as of a time, or CODE_NONE. `ret_until_ns` as in code_found. */
uint32_t code_store_find(const struct code_store *store, uint64_t address, uint64_t time_ns,
	const struct code_view *view, uint64_t *ret_until_ns);

/* The packed lines of code; NULL: it has none. */
const uint8_t *code_store_lines(
	const struct code_store *store, const struct code_entry *entry, size_t *ret_size);

static inline bool code_entry_is_end(const struct code_entry *entry)
{
	return entry->name == CODE_NONE;
}

/* Ids of facts: the later time is newer, and of equal times the later arrival. */
static inline bool code_store_is_newer(const struct code_store *store, uint32_t id, uint32_t other)
{
	const struct code_entry *entry = &store->entries[id], *older = &store->entries[other];

	return entry->time_ns > older->time_ns || (entry->time_ns == older->time_ns && id > other);
}
