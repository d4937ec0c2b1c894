/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * As base/hash_index.h, in half of the memory: of an element it keeps the id alone, and asks for
 * its hash anew when it grows. For tables of some hundred thousand elements whose equality is soon
 * told. Not thread-safe; bounded by the table.
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

/* Makes sure that the next id_index_insert() succeeds. Returns 0, -ENOMEM or -E2BIG. */
int id_index_reserve(struct id_index *index, id_index_hash hash, const void *owner);

/* Adds an element that id_index_find() has missed, after id_index_reserve(). */
void id_index_insert(struct id_index *index, uint64_t hash, uint32_t id);
