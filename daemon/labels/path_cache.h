/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A cache of paths with a key of three numbers, bounded in count and bytes (I4). Beyond a bound,
 * the least recently used paths are evicted. One owner, one thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

struct path_key {
	uint64_t id;
	uint64_t start_ns;
	pid_t pid;
};

LIST_HEAD(path_cache_bucket, path_cache_entry);

struct path_cache {
	size_t count, limit;
	struct path_cache_bucket *buckets;
	size_t bucket_count;		       /* a power of two */
	TAILQ_HEAD(, path_cache_entry) by_use; /* the least recently used first */
	size_t path_bytes, path_bytes_limit;   /* NULs included */
	uint64_t evicted;
};

/* Returns 0 or -ENOMEM; call path_cache_done() in both cases. */
int path_cache_init(struct path_cache *cache, size_t limit, size_t path_bytes);
void path_cache_done(struct path_cache *cache);

/*
 * Copies the path and replaces the key's old one. Returns 0, -ENOMEM, or -E2BIG for a path that
 * does not fit into an empty cache.
 */
int path_cache_put(struct path_cache *cache, const struct path_key *key, const char *path);

/* Finds the path, borrowed until the next put, and marks it as used. NULL: none. */
const char *path_cache_get(struct path_cache *cache, const struct path_key *key);

size_t path_cache_bytes(const struct path_cache *cache);
