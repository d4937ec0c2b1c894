/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/id_index.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { CAPACITY_MIN = 64, CAPACITY_MAX = 1 << 24 };

void id_index_done(struct id_index *index)
{
	free(index->slots);
	*index = (struct id_index){ 0 };
}

size_t id_index_bytes(const struct id_index *index)
{
	return index->capacity * sizeof(*index->slots);
}

uint32_t id_index_find(const struct id_index *index, uint64_t hash, id_index_equal equal,
	const void *owner, const void *key)
{
	uint32_t mask = index->capacity - 1;

	if (index->capacity == 0)
		return ID_INDEX_NONE;
	/* At least a quarter of the slots is empty, so the search ends. */
	for (uint32_t i = (uint32_t)hash & mask;; i = (i + 1) & mask) {
		uint32_t id = index->slots[i];

		if (id == ID_INDEX_NONE || equal(owner, id, key))
			return id;
	}
}

void id_index_insert(struct id_index *index, uint64_t hash, uint32_t id)
{
	uint32_t mask = index->capacity - 1, i = (uint32_t)hash & mask;

	while (index->slots[i] != ID_INDEX_NONE)
		i = (i + 1) & mask;
	index->slots[i] = id;
	index->count++;
}

int id_index_reserve(struct id_index *index, id_index_hash hash, const void *owner)
{
	struct id_index grown = { .capacity =
					  index->capacity ? index->capacity * 2 : CAPACITY_MIN };

	if (index->count < index->capacity / 4 * 3)
		return 0;
	if (grown.capacity > CAPACITY_MAX)
		return -E2BIG;
	grown.slots = reallocarray(NULL, grown.capacity, sizeof(*grown.slots));
	if (!grown.slots)
		return -ENOMEM;
	memset(grown.slots, 0xff, grown.capacity * sizeof(*grown.slots));
	for (uint32_t i = 0; i < index->capacity; i++)
		if (index->slots[i] != ID_INDEX_NONE)
			id_index_insert(&grown, hash(owner, index->slots[i]), index->slots[i]);
	free(index->slots);
	*index = grown;
	return 0;
}
