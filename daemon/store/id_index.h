/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A hash index like base/hash_index.h in half the memory: it stores ids only and recomputes hashes
 * when it grows. Meant for tables of some hundred thousand elements that are cheap to compare: with
 * the other index, full dictionaries of a day would take 1.5 MiB more, and the writer has 140 KiB
 * left of its 8 MiB (tests/store/store_memory_test.c). Not thread-safe; bounded by the table.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ID_INDEX_NONE UINT32_MAX

struct id_index {
	uint32_t *slots;	  /* ID_INDEX_NONE: empty */
	uint32_t capacity, count; /* 0 or a power of two */
};

typedef uint64_t (*id_index_hash)(const void *owner, uint32_t id);
typedef bool (*id_index_equal)(const void *owner, uint32_t id, const void *key);

void id_index_done(struct id_index *index);
size_t id_index_bytes(const struct id_index *index);

/* Returns the element's id, or ID_INDEX_NONE. */
uint32_t id_index_find(const struct id_index *index, uint64_t hash, id_index_equal equal,
	const void *owner, const void *key);

/* Ensures that the next id_index_insert() succeeds. Returns 0, -ENOMEM or -E2BIG. */
int id_index_reserve(struct id_index *index, id_index_hash hash, const void *owner);

/* Adds an element that id_index_find() missed. Call id_index_reserve() first. */
void id_index_insert(struct id_index *index, uint64_t hash, uint32_t id);
