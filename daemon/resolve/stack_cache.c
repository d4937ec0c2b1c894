/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "resolve/stack_cache.h"

#include "base/array.h"
#include "base/hash_index.h"
#include "resolve/resolver.h"

#include <errno.h>
#include <string.h>

const struct stack_cache_limits stack_cache_default_limits = {
	.stacks = 8192, .frames = 65536, /* 2 MiB of both kinds */
};

struct entry {
	struct pilotlight_process process;
	uint64_t version;
	uint32_t first_ip, ip_count;
	uint32_t first_frame, frame_count;
	uint32_t cut;
};

struct stack_cache {
	struct stack_cache_limits limits;
	struct entry *entries;
	size_t count, capacity;
	uint64_t *ips;
	size_t ip_count, ip_capacity;
	struct resolved_frame *frames;
	size_t frame_count, frame_capacity;
	struct hash_index index;
};

int stack_cache_new(const struct stack_cache_limits *limits, struct stack_cache **ret_cache)
{
	struct stack_cache *cache = calloc(1, sizeof(*cache));

	if (!cache)
		return -ENOMEM;
	cache->limits = *limits;
	*ret_cache = cache;
	return 0;
}

void stack_cache_free(struct stack_cache *cache)
{
	if (!cache)
		return;
	free(cache->entries);
	free(cache->ips);
	free(cache->frames);
	hash_index_done(&cache->index);
	free(cache);
}

static bool entry_equal(const void *owner, uint32_t id, const void *key)
{
	const struct stack_cache *cache = owner;
	const struct entry *entry = &cache->entries[id];
	const struct cached_stack *stack = key;

	return entry->version == stack->version && entry->ip_count == stack->ip_count &&
	       memcmp(&entry->process, &stack->process, sizeof(entry->process)) == 0 &&
	       memcmp(cache->ips + entry->first_ip, stack->ips,
		       stack->ip_count * sizeof(*stack->ips)) == 0;
}

static uint64_t hash_stack(const struct cached_stack *stack)
{
	return hash_pair(hash_bytes(stack->ips, stack->ip_count * sizeof(*stack->ips)),
		hash_bytes(&stack->process, sizeof(stack->process)) + stack->version);
}

bool stack_cache_find(const struct stack_cache *cache, struct cached_stack *stack)
{
	uint32_t id = hash_index_find(&cache->index, hash_stack(stack), entry_equal, cache, stack);

	if (id == HASH_INDEX_NONE)
		return false;
	stack->frames = cache->frames + cache->entries[id].first_frame;
	stack->frame_count = cache->entries[id].frame_count;
	stack->cut = cache->entries[id].cut;
	return true;
}

static void start_afresh(struct stack_cache *cache)
{
	cache->count = cache->ip_count = cache->frame_count = 0;
	hash_index_clear(&cache->index);
}

static int make_room(struct stack_cache *cache, const struct cached_stack *stack)
{
	int r;

	r = ARRAY_RESERVE(cache->entries, &cache->capacity, cache->count + 1, cache->limits.stacks);
	if (r == 0)
		r = ARRAY_RESERVE(cache->ips, &cache->ip_capacity,
			cache->ip_count + stack->ip_count, cache->limits.frames);
	if (r == 0)
		r = ARRAY_RESERVE(cache->frames, &cache->frame_capacity,
			cache->frame_count + stack->frame_count, cache->limits.frames);
	if (r == 0)
		r = hash_index_reserve(&cache->index);
	return r;
}

int stack_cache_add(struct stack_cache *cache, const struct cached_stack *stack)
{
	uint64_t hash = hash_stack(stack);
	struct entry entry = {
		.process = stack->process,
		.version = stack->version,
		.ip_count = (uint32_t)stack->ip_count,
		.frame_count = (uint32_t)stack->frame_count,
		.cut = stack->cut,
	};
	uint32_t id;
	int r;

	r = make_room(cache, stack);
	if (r == -E2BIG) {
		start_afresh(cache);
		r = make_room(cache, stack);
	}
	if (r == -E2BIG)
		return 0; /* too large even for an empty cache */
	if (r < 0)
		return r;
	entry.first_ip = (uint32_t)cache->ip_count;
	entry.first_frame = (uint32_t)cache->frame_count;
	memcpy(cache->ips + cache->ip_count, stack->ips, stack->ip_count * sizeof(*stack->ips));
	memcpy(cache->frames + cache->frame_count, stack->frames,
		stack->frame_count * sizeof(*stack->frames));
	cache->ip_count += stack->ip_count;
	cache->frame_count += stack->frame_count;

	id = hash_index_find(&cache->index, hash, entry_equal, cache, stack);
	if (id == HASH_INDEX_NONE) {
		id = (uint32_t)cache->count++;
		hash_index_insert(&cache->index, hash, id);
	}
	cache->entries[id] = entry;
	return 0;
}
