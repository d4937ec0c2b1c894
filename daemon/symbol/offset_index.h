/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Searches a table that is sorted by the 32-bit offset that each entry begins with, by way of a
 * coarse index: how many entries begin before each stretch of 2^shift. The index names a few
 * neighbours, which are searched without branches; the cache misses of a batch of keys overlap.
 *
 * Table and index are other people's (I8) and may be unsorted: then what is found is wrong, but in
 * bounds, and found in as few steps. A value object that borrows both.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { OFFSET_INDEX_BATCH = 32 };

struct offset_index {
	const uint32_t *entries;
	const uint32_t *starts; /* one for each stretch, and one to end with */
	uint32_t count;		/* of entries; where it is 0 nothing else counts */
	uint32_t last_stretch;
	uint8_t entry_words; /* 2 or 3 */
	uint8_t shift;	     /* below 32 */
};

/*
 * For each key how many entries are at or before it: the last of them is the one that the key lies
 * in, and 0 is none. At most OFFSET_INDEX_BATCH keys.
 */
void offset_index_find(const struct offset_index *index, const uint32_t *keys, size_t count,
	uint32_t *ret_positions);
