/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The free entries of an array, as ranges that are sorted, not adjacent and not empty. One owner,
 * one thread; bounded by what the owner reserves (I4).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct extent {
	uint32_t start, count; /* entries */
};

struct extent_set {
	struct extent *extents;
	size_t count, capacity;
	uint64_t entries; /* of all extents */
};

void extent_set_done(struct extent_set *set);

/* Reserves memory for `extents` extents. Returns 0, -ENOMEM, or -E2BIG beyond `limit`. */
int extent_set_reserve(struct extent_set *set, size_t extents, size_t limit);

/*
 * Adds a range that does not overlap the set, and merges it with its neighbours. Memory for another
 * extent must be reserved. An empty range changes nothing.
 */
void extent_set_add(struct extent_set *set, uint32_t start, uint32_t count);

/* Finds the first extent of at least `count` entries. */
bool extent_set_find(const struct extent_set *set, uint32_t count, uint32_t *ret_start);

/* Removes `count` entries from the start of the extent that begins at `start`. */
void extent_set_remove(struct extent_set *set, uint32_t start, uint32_t count);

/* Would the union of two disjoint sets have `count` entries in a row? */
bool extent_set_union_has(const struct extent_set *a, const struct extent_set *b, uint32_t count);

/* Moves all extents of `from`; memory must be reserved. */
void extent_set_move(struct extent_set *to, struct extent_set *from);
