/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An open-addressing index from a key to the position (id) of an element in an array that the
 * caller owns. It stores no keys: the caller compares keys, so that interned strings, locations and
 * tree nodes need no second copy of themselves. Elements are never removed one by one; the index
 * grows by doubling at 3/4 full. Not thread-safe.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HASH_INDEX_NONE UINT32_MAX

struct hash_index {
	struct hash_index_slot {
		uint32_t hash; /* upper half of the key's 64-bit hash */
		uint32_t id;   /* HASH_INDEX_NONE: empty */
	} * slots;
	uint32_t capacity; /* 0 or a power of two */
	uint32_t count;
};

/* Is the element `id` of the caller's array the one that `key` describes? */
typedef bool (*hash_index_equal)(const void *owner, uint32_t id, const void *key);

void hash_index_done(struct hash_index *index);

/* Removes all elements and keeps the memory. */
void hash_index_clear(struct hash_index *index);

/* Returns the element's id, or HASH_INDEX_NONE. */
uint32_t hash_index_find(const struct hash_index *index, uint64_t hash, hash_index_equal equal,
	const void *owner, const void *key);

/* Makes sure that the next hash_index_insert() succeeds. Returns 0, -ENOMEM or -E2BIG. */
int hash_index_reserve(struct hash_index *index);

/* Will the next insert double the memory? */
bool hash_index_is_full(const struct hash_index *index);
size_t hash_index_bytes(const struct hash_index *index);

/* Adds an element that hash_index_find() has missed, after hash_index_reserve(). */
void hash_index_insert(struct hash_index *index, uint64_t hash, uint32_t id);

/*
 * XXH3 of some bytes, and a mix of two integers, for use with the above. Seeded: values differ
 * between processes.
 */
uint64_t hash_bytes(const void *bytes, size_t size);
uint64_t hash_pair(uint64_t first, uint64_t second);
