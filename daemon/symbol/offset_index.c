/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/offset_index.h"

#include <assert.h>
#include <string.h>

static inline uint32_t minimum(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* Counts the entries at or before the key, in log2(size) steps whatever the key is. */
static inline uint32_t count_until(
	const uint32_t *entries, uint32_t size, uint32_t key, size_t entry_words)
{
	size_t first = 0;

	if (size == 0)
		return 0;
	while (size > 1) {
		uint32_t half = size / 2;

		first += entries[(first + half - 1) * entry_words] <= key ? half : 0;
		size -= half;
	}
	return (uint32_t)first + (entries[first * entry_words] <= key);
}

static inline __attribute__((always_inline)) void find(const struct offset_index *index,
	const uint32_t *keys, size_t count, uint32_t *ret_positions, size_t entry_words)
{
	uint32_t starts[OFFSET_INDEX_BATCH], sizes[OFFSET_INDEX_BATCH];

	for (size_t i = 0; i < count; i++) {
		starts[i] = minimum(keys[i] >> index->shift, index->last_range);
		__builtin_prefetch(&index->starts[starts[i]]);
	}
	for (size_t i = 0; i < count; i++) {
		uint32_t start = minimum(index->starts[starts[i]], index->count);
		uint32_t end = minimum(index->starts[(size_t)starts[i] + 1], index->count);

		starts[i] = start;
		sizes[i] = end > start ? end - start : 0;
		/* The search begins there. Prefetching the ends, too, costs more than it saves. */
		__builtin_prefetch(&index->entries[(start + sizes[i] / 2) * entry_words]);
	}
	for (size_t i = 0; i < count; i++)
		ret_positions[i] = starts[i] + count_until(index->entries + starts[i] * entry_words,
						       sizes[i], keys[i], entry_words);
}

void offset_index_find(const struct offset_index *index, const uint32_t *keys, size_t count,
	uint32_t *ret_positions)
{
	assert(count <= OFFSET_INDEX_BATCH);
	if (index->count == 0)
		memset(ret_positions, 0, count * sizeof(*ret_positions));
	else if (index->entry_words == 2)
		find(index, keys, count, ret_positions, 2);
	else
		find(index, keys, count, ret_positions, 3);
}
