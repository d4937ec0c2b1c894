/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "labels/path_cache.h"

#include "base/hash_index.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { BUCKETS_MIN = 64 };

struct path_cache_entry {
	struct path_key key;
	size_t path_bytes;
	LIST_ENTRY(path_cache_entry) of_bucket;
	TAILQ_ENTRY(path_cache_entry) by_use;
	char path[];
};

int path_cache_init(struct path_cache *cache, size_t limit, size_t path_bytes)
{
	*cache = (struct path_cache){
		.limit = limit,
		.path_bytes_limit = path_bytes,
		.bucket_count = BUCKETS_MIN,
	};
	TAILQ_INIT(&cache->by_use);
	while (cache->bucket_count < limit)
		cache->bucket_count *= 2;
	cache->buckets = calloc(cache->bucket_count, sizeof(*cache->buckets));
	return cache->buckets ? 0 : -ENOMEM;
}

static void remove_entry(struct path_cache *cache, struct path_cache_entry *entry)
{
	LIST_REMOVE(entry, of_bucket);
	TAILQ_REMOVE(&cache->by_use, entry, by_use);
	cache->count--;
	cache->path_bytes -= entry->path_bytes;
	free(entry);
}

void path_cache_done(struct path_cache *cache)
{
	struct path_cache_entry *entry;

	while ((entry = TAILQ_FIRST(&cache->by_use)))
		remove_entry(cache, entry);
	free(cache->buckets);
}

static struct path_cache_bucket *bucket_of(
	const struct path_cache *cache, const struct path_key *key)
{
	uint64_t hash = hash_pair(hash_pair(key->id, key->start_ns), (uint64_t)key->pid);

	return &cache->buckets[hash & (cache->bucket_count - 1)];
}

static struct path_cache_entry *find(const struct path_cache *cache, const struct path_key *key)
{
	struct path_cache_entry *entry;

	LIST_FOREACH(entry, bucket_of(cache, key), of_bucket)
	if (entry->key.id == key->id && entry->key.start_ns == key->start_ns &&
		entry->key.pid == key->pid)
		break;
	return entry;
}

int path_cache_put(struct path_cache *cache, const struct path_key *key, const char *path)
{
	struct path_cache_entry *old = find(cache, key), *entry;
	size_t bytes = strlen(path) + 1;

	if (cache->limit == 0 || bytes > cache->path_bytes_limit)
		return -E2BIG;
	entry = malloc(sizeof(*entry) + bytes);
	if (!entry)
		return -ENOMEM;
	entry->key = *key;
	entry->path_bytes = bytes;
	memcpy(entry->path, path, bytes);
	if (old)
		remove_entry(cache, old);
	while (cache->count == cache->limit ||
		cache->path_bytes + bytes > cache->path_bytes_limit) {
		remove_entry(cache, TAILQ_FIRST(&cache->by_use));
		cache->evicted++;
	}
	LIST_INSERT_HEAD(bucket_of(cache, key), entry, of_bucket);
	TAILQ_INSERT_TAIL(&cache->by_use, entry, by_use);
	cache->count++;
	cache->path_bytes += bytes;
	return 0;
}

const char *path_cache_get(struct path_cache *cache, const struct path_key *key)
{
	struct path_cache_entry *entry = find(cache, key);

	if (!entry)
		return NULL;
	TAILQ_REMOVE(&cache->by_use, entry, by_use);
	TAILQ_INSERT_TAIL(&cache->by_use, entry, by_use);
	return entry->path;
}

size_t path_cache_bytes(const struct path_cache *cache)
{
	return cache->count * sizeof(struct path_cache_entry) +
	       cache->bucket_count * sizeof(*cache->buckets) + cache->path_bytes;
}
