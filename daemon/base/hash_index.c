/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/hash_index.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>
#include <xxhash.h>

enum { CAPACITY_MIN = 64, CAPACITY_MAX = 1U << 30 };

void hash_index_done(struct hash_index *index)
{
	free(index->slots);
	*index = (struct hash_index){ 0 };
}

void hash_index_clear(struct hash_index *index)
{
	if (index->slots)
		memset(index->slots, 0xff, index->capacity * sizeof(*index->slots));
	index->count = 0;
}

/* A slot's position comes from the stored half of the hash alone, so that growing needs no keys. */
static uint32_t first_slot(const struct hash_index *index, uint32_t hash)
{
	return (hash * 0x9e3779b1U) & (index->capacity - 1);
}

uint32_t hash_index_find(const struct hash_index *index, uint64_t hash, hash_index_equal equal,
	const void *owner, const void *key)
{
	uint32_t upper = hash >> 32;
	uint32_t mask = index->capacity - 1;

	if (!index->capacity)
		return HASH_INDEX_NONE;
	for (uint32_t i = first_slot(index, upper);; i = (i + 1) & mask) {
		const struct hash_index_slot *slot = &index->slots[i];

		if (slot->id == HASH_INDEX_NONE)
			return HASH_INDEX_NONE;
		if (slot->hash == upper && equal(owner, slot->id, key))
			return slot->id;
	}
}

static void place(struct hash_index *index, uint32_t hash, uint32_t id)
{
	uint32_t mask = index->capacity - 1;
	uint32_t i = first_slot(index, hash);

	while (index->slots[i].id != HASH_INDEX_NONE)
		i = (i + 1) & mask;
	index->slots[i] = (struct hash_index_slot){ .hash = hash, .id = id };
}

bool hash_index_is_full(const struct hash_index *index)
{
	return index->count + 1 > index->capacity / 4 * 3;
}

size_t hash_index_bytes(const struct hash_index *index)
{
	return index->capacity * sizeof(*index->slots);
}

int hash_index_reserve(struct hash_index *index)
{
	struct hash_index grown = { .count = index->count };

	if (!hash_index_is_full(index))
		return 0;
	if (index->capacity >= CAPACITY_MAX)
		return -E2BIG;
	grown.capacity = index->capacity ? index->capacity * 2 : CAPACITY_MIN;
	grown.slots = malloc(grown.capacity * sizeof(*grown.slots));
	if (!grown.slots)
		return -ENOMEM;
	memset(grown.slots, 0xff, grown.capacity * sizeof(*grown.slots));
	for (uint32_t i = 0; i < index->capacity; i++)
		if (index->slots[i].id != HASH_INDEX_NONE)
			place(&grown, index->slots[i].hash, index->slots[i].id);
	free(index->slots);
	*index = grown;
	return 0;
}

void hash_index_insert(struct hash_index *index, uint64_t hash, uint32_t id)
{
	assert(index->count < index->capacity);
	place(index, hash >> 32, id);
	index->count++;
}

/*
 * What is hashed is often chosen by others (names, addresses), who could make it collide if they
 * knew the function: so it is another one in each process. Set once, before main().
 */
static uint64_t seed;

__attribute__((constructor)) static void choose_seed(void)
{
	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) != sizeof(seed))
		seed = (uint64_t)getpid() * 0x9e3779b97f4a7c15ULL;
}

uint64_t hash_bytes(const void *bytes, size_t size)
{
	return XXH3_64bits_withSeed(bytes, size, seed);
}

uint64_t hash_pair(uint64_t first, uint64_t second)
{
	const uint64_t both[] = { first, second };

	return XXH3_64bits_withSeed(both, sizeof(both), seed);
}
