/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Searches a sorted table whose entries begin with a 32-bit offset. A coarse index says how many
 * entries begin before each range of 2^shift offsets, so a few neighbours are left for a search
 * without branches. The cache misses of a batch of keys overlap.
 *
 * Table and index are hostile (I8). If they are unsorted, the answer is wrong but in bounds, after
 * as few steps. A value object that borrows both.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { OFFSET_INDEX_BATCH = 32 };

struct offset_index {
	const uint32_t *entries;
	const uint32_t *starts; /* one for each range, and one for the end */
	uint32_t count;		/* of entries; 0: the other fields are unused */
	uint32_t last_range;
	uint8_t entry_words; /* 2 or 3 */
	uint8_t shift;	     /* below 32 */
};

/*
 * For each key, returns the number of entries at or before it. The last of those contains the key;
 * 0: none does. At most OFFSET_INDEX_BATCH keys.
 */
void offset_index_find(const struct offset_index *index, const uint32_t *keys, size_t count,
	uint32_t *ret_positions);
