/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/string_pool.h"

#include "base/array.h"
#include "base/utf8.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct string_key {
	const char *bytes;
	size_t size;
};

static bool string_equal(const void *owner, uint32_t id, const void *key)
{
	const char *kept = string_pool_get(owner, id);
	const struct string_key *wanted = key;

	return strncmp(kept, wanted->bytes, wanted->size) == 0 && kept[wanted->size] == '\0';
}

int string_pool_init(struct string_pool *pool, size_t limit_bytes)
{
	uint32_t empty;
	int r;

	*pool = (struct string_pool){ .limit_bytes =
					      limit_bytes < UINT32_MAX ? limit_bytes : UINT32_MAX };
	r = string_pool_intern(pool, "", 0, &empty);
	if (r < 0)
		string_pool_done(pool);
	return r;
}

void string_pool_done(struct string_pool *pool)
{
	free(pool->bytes);
	free(pool->offsets);
	hash_index_done(&pool->index);
	*pool = (struct string_pool){ 0 };
}

const char *string_pool_get(const struct string_pool *pool, uint32_t id)
{
	assert(id < pool->count);
	return pool->bytes + pool->offsets[id];
}

int string_pool_intern(struct string_pool *pool, const char *string, size_t size, uint32_t *ret_id)
{
	return string_pool_intern_within(pool, string, size, pool->limit_bytes, ret_id);
}

/* Adds a clean string under the next id. It is in no index yet. */
static int append(struct string_pool *pool, const struct string_key *key, size_t limit_bytes)
{
	int r;

	if (pool->size + key->size + 1 > limit_bytes)
		return -E2BIG;
	r = ARRAY_RESERVE(pool->bytes, &pool->capacity, pool->size + key->size + 1, limit_bytes);
	if (r < 0)
		return r;
	r = ARRAY_RESERVE(pool->offsets, &pool->offsets_capacity, pool->count + 1, UINT32_MAX - 1);
	if (r < 0)
		return r;
	pool->offsets[pool->count++] = (uint32_t)pool->size;
	memcpy(pool->bytes + pool->size, key->bytes, key->size);
	pool->bytes[pool->size + key->size] = '\0';
	pool->size += key->size + 1;
	return 0;
}

int string_pool_intern_within(struct string_pool *pool, const char *string, size_t size,
	size_t limit_bytes, uint32_t *ret_id)
{
	char clean[UTF8_CLEAN_BYTES];
	struct string_key key = { .bytes = clean };
	uint64_t hash;
	uint32_t id;
	int r;

	key.size = utf8_clean(clean, string, size);
	hash = hash_bytes(clean, key.size);
	id = hash_index_find(&pool->index, hash, string_equal, pool, &key);
	if (id != HASH_INDEX_NONE) {
		*ret_id = id;
		return 0;
	}
	r = hash_index_reserve(&pool->index);
	if (r == 0)
		r = append(pool, &key, limit_bytes);
	if (r < 0)
		return r;
	id = pool->count - 1;
	hash_index_insert(&pool->index, hash, id);
	*ret_id = id;
	return 0;
}

int string_pool_restore(
	struct string_pool *pool, const char *string, size_t size, uint32_t wanted_id)
{
	char clean[UTF8_CLEAN_BYTES];
	struct string_key key = { .bytes = clean };
	/* A character of two bytes may have become U+FFFD, which has three. */
	const size_t limit_bytes = pool->limit_bytes / 2 * 3;
	uint32_t id;
	int r = string_pool_intern_within(pool, string, size, limit_bytes, &id);

	if (r < 0 || id == wanted_id)
		return r;
	key.size = utf8_clean(clean, string, size);
	if (wanted_id != pool->count || (key.size == size && memcmp(clean, string, size) == 0))
		return -EEXIST;
	return append(pool, &key, limit_bytes);
}

size_t string_pool_bytes(const struct string_pool *pool)
{
	return pool->capacity + pool->offsets_capacity * sizeof(*pool->offsets) +
	       hash_index_bytes(&pool->index);
}
