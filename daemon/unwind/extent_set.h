/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which entries of an array are free, as ranges: sorted, apart from each other, never empty. One
 * owner, one thread; its bound is what the owner reserves (I4).
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

/* Room for `extents` at once. Returns 0, -ENOMEM, or -E2BIG beyond `limit`. */
int extent_set_reserve(struct extent_set *set, size_t extents, size_t limit);

/*
 * Adds a range that shares no entry with any in the set and becomes one with its neighbours. There
 * is room for another extent. Of 0 entries: nothing happens.
 */
void extent_set_add(struct extent_set *set, uint32_t start, uint32_t count);

/* Where the first extent of at least `count` entries is; false: there is none. */
bool extent_set_find(const struct extent_set *set, uint32_t count, uint32_t *ret_start);

/* Takes `count` entries off the beginning of an extent, which begins at `start`. */
void extent_set_take(struct extent_set *set, uint32_t start, uint32_t count);

/* Would there be `count` entries in a row if these two, which share none, were one? */
bool extent_set_unite_to(const struct extent_set *a, const struct extent_set *b, uint32_t count);

/* Moves all that is in `from`, for which there is room. */
void extent_set_move(struct extent_set *to, struct extent_set *from);
