/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "labels/path_cache.h"

#include "base/array.h"
#include "base/hash_index.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
	NONE = UINT32_MAX,
	BUCKETS_MIN = 64,
};

struct path_cache_entry {
	struct path_key key;
	char *path; /* owned; NULL: the entry is free */
	size_t bytes;
	uint32_t next;	       /* in the bucket, or in the free list */
	uint32_t older, newer; /* neighbours in order of use */
};

int path_cache_init(struct path_cache *cache, size_t limit, size_t path_bytes)
{
	*cache = (struct path_cache){
		.limit = limit < NONE ? limit : NONE - 1,
		.path_bytes_limit = path_bytes,
		.bucket_count = BUCKETS_MIN,
		.free = NONE,
		.oldest = NONE,
		.newest = NONE,
	};
	while (cache->bucket_count < cache->limit)
		cache->bucket_count *= 2;
	cache->buckets = malloc(cache->bucket_count * sizeof(*cache->buckets));
	if (!cache->buckets)
		return -ENOMEM;
	memset(cache->buckets, 0xff, cache->bucket_count * sizeof(*cache->buckets));
	return 0;
}

void path_cache_done(struct path_cache *cache)
{
	for (size_t i = 0; i < cache->count; i++)
		free(cache->entries[i].path);
	free(cache->entries);
	free(cache->buckets);
}

static bool is_of(const struct path_cache_entry *entry, const struct path_key *key)
{
	return entry->key.id == key->id && entry->key.start_ns == key->start_ns &&
	       entry->key.pid == key->pid;
}

/* Returns the link to the key's entry, or to the end of its bucket. */
static uint32_t *place_of(const struct path_cache *cache, const struct path_key *key)
{
	uint64_t hash = hash_pair(hash_pair(key->id, key->start_ns), (uint64_t)key->pid);
	uint32_t *place = &cache->buckets[hash & (cache->bucket_count - 1)];

	while (*place != NONE && !is_of(&cache->entries[*place], key))
		place = &cache->entries[*place].next;
	return place;
}

/* --- the order of use --- */

static void take_out(struct path_cache *cache, uint32_t number)
{
	struct path_cache_entry *entry = &cache->entries[number];

	if (entry->older == NONE)
		cache->oldest = entry->newer;
	else
		cache->entries[entry->older].newer = entry->newer;
	if (entry->newer == NONE)
		cache->newest = entry->older;
	else
		cache->entries[entry->newer].older = entry->older;
}

static void put_newest(struct path_cache *cache, uint32_t number)
{
	struct path_cache_entry *entry = &cache->entries[number];

	entry->older = cache->newest;
	entry->newer = NONE;
	if (cache->newest == NONE)
		cache->oldest = number;
	else
		cache->entries[cache->newest].newer = number;
	cache->newest = number;
}

/* --- */

static void evict_oldest(struct path_cache *cache)
{
	uint32_t number = cache->oldest;
	struct path_cache_entry *entry = &cache->entries[number];

	*place_of(cache, &entry->key) = entry->next;
	take_out(cache, number);
	cache->path_bytes -= entry->bytes;
	free(entry->path);
	*entry = (struct path_cache_entry){ .next = cache->free };
	cache->free = number;
	cache->evicted++;
}

static int take_entry(struct path_cache *cache, uint32_t *ret_number)
{
	int r;

	if (cache->free == NONE && cache->count == cache->limit)
		evict_oldest(cache);
	if (cache->free != NONE) {
		*ret_number = cache->free;
		cache->free = cache->entries[*ret_number].next;
		return 0;
	}
	r = ARRAY_RESERVE(cache->entries, &cache->capacity, cache->count + 1, cache->limit);
	if (r < 0)
		return r;
	*ret_number = (uint32_t)cache->count++;
	return 0;
}

static void replace_path(
	struct path_cache *cache, struct path_cache_entry *entry, char *path, size_t bytes)
{
	free(entry->path);
	cache->path_bytes += bytes - entry->bytes;
	entry->path = path;
	entry->bytes = bytes;
}

/* The newest entry is the key's own and alone fits the limit, so only others are evicted. */
static void make_room(struct path_cache *cache)
{
	while (cache->path_bytes > cache->path_bytes_limit)
		evict_oldest(cache);
}

static int add_entry(struct path_cache *cache, const struct path_key *key, char *path, size_t bytes)
{
	struct path_cache_entry *entry;
	uint32_t number, *place;
	int r = take_entry(cache, &number);

	if (r < 0)
		return r;
	entry = &cache->entries[number];
	*entry = (struct path_cache_entry){ .key = *key, .next = NONE };
	replace_path(cache, entry, path, bytes);
	place = place_of(cache, key);
	*place = number;
	put_newest(cache, number);
	return 0;
}

int path_cache_put(struct path_cache *cache, const struct path_key *key, const char *path)
{
	size_t bytes = strlen(path) + 1;
	uint32_t number;
	char *copy;
	int r = 0;

	if (cache->limit == 0 || bytes > cache->path_bytes_limit)
		return -E2BIG;
	copy = strdup(path);
	if (!copy)
		return -ENOMEM;
	number = *place_of(cache, key);
	if (number == NONE) {
		r = add_entry(cache, key, copy, bytes);
	} else {
		replace_path(cache, &cache->entries[number], copy, bytes);
		take_out(cache, number);
		put_newest(cache, number);
	}
	if (r < 0)
		free(copy);
	else
		make_room(cache);
	return r;
}

const char *path_cache_get(struct path_cache *cache, const struct path_key *key)
{
	uint32_t number = *place_of(cache, key);

	if (number == NONE)
		return NULL;
	take_out(cache, number);
	put_newest(cache, number);
	return cache->entries[number].path;
}

size_t path_cache_bytes(const struct path_cache *cache)
{
	return cache->capacity * sizeof(*cache->entries) +
	       cache->bucket_count * sizeof(*cache->buckets) + cache->path_bytes;
}
