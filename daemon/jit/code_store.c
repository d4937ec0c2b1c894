/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "jit/code_store.h"

#include "base/array.h"
#include "base/utf8.h"
#include "jit/code_growth.h"

#include <assert.h>
#include <string.h>

int code_store_init(struct code_store *store)
{
	int r;

	*store = (struct code_store){ 0 };
	r = segment_list_init(&store->segments, CODE_LIST_NONE);
	if (r == 0)
		r = string_pool_init(&store->names, UINT32_MAX);
	if (r < 0)
		code_store_done(store);
	return r;
}

void code_store_done(struct code_store *store)
{
	code_history_done(&store->history);
	segment_list_done(&store->segments);
	string_pool_done(&store->names);
	free(store->lines);
	*store = (struct code_store){ 0 };
}

/* A byte that is not UTF-8 becomes three. */
static size_t clean_bytes_max(size_t size)
{
	return size < UTF8_CLEAN_BYTES / 3 ? 3 * size + 1 : UTF8_CLEAN_BYTES;
}

int code_pool_intern(struct string_pool *pool, const char *string, size_t size, size_t limit_bytes,
	uint32_t *ret_id)
{
	size_t grown = code_growth(pool->capacity, pool->size + clean_bytes_max(size));

	pool->limit_bytes = grown < limit_bytes ? grown : limit_bytes;
	return string_pool_intern(pool, string, size, ret_id);
}

/* With one string more of `size` bytes of any kind, or with none. */
static size_t pool_bytes_after(const struct string_pool *pool, size_t size)
{
	size_t bytes = code_growth(pool->capacity, pool->size + clean_bytes_max(size));
	size_t offsets = pool->offsets_capacity;
	size_t slots = hash_index_bytes(&pool->index);

	if (size == 0)
		return string_pool_bytes(pool);
	if (pool->count + 1 > offsets)
		offsets *= 2;
	if (hash_index_is_full(&pool->index))
		slots *= 2;
	return bytes + offsets * sizeof(*pool->offsets) + slots;
}

static size_t lines_after(const struct code_store *store, size_t size)
{
	return store->lines_size + (size > 0 ? sizeof(uint32_t) + size : 0);
}

size_t code_index_bytes_after(const struct code_index *index, const struct code_need *need)
{
	const struct code_store *store = &index->store;
	size_t lines_bytes = lines_after(store, need->lines_bytes);

	return sizeof(*index) +
	       code_history_bytes_after(&store->history, need->entries, need->nodes) +
	       segment_list_bytes_after(&store->segments, need->splits) +
	       pool_bytes_after(&store->names, need->name_bytes) +
	       pool_bytes_after(&index->files, need->file_bytes) +
	       code_growth(store->lines_capacity, lines_bytes);
}

int code_store_reserve(struct code_store *store, const struct code_need *need)
{
	size_t lines_bytes = lines_after(store, need->lines_bytes);
	int r;

	r = code_history_reserve(&store->history, need->entries, need->nodes);
	if (r < 0)
		return r;
	r = segment_list_reserve(&store->segments, need->splits);
	if (r < 0)
		return r;
	return ARRAY_RESERVE(store->lines, &store->lines_capacity, lines_bytes,
		code_growth(store->lines_capacity, lines_bytes));
}

uint32_t code_store_add_lines(struct code_store *store, const uint8_t *lines, size_t size)
{
	uint32_t at = (uint32_t)store->lines_size, size32 = (uint32_t)size;

	if (size == 0)
		return CODE_LINES_NONE;
	assert(lines_after(store, size) <= store->lines_capacity);
	memcpy(store->lines + at, &size32, sizeof(size32));
	memcpy(store->lines + at + sizeof(size32), lines, size);
	store->lines_size = lines_after(store, size);
	return at;
}

const uint8_t *code_store_lines(
	const struct code_store *store, const struct code_entry *entry, size_t *ret_size)
{
	uint32_t size;

	memcpy(&size, store->lines + entry->lines, sizeof(size));
	*ret_size = size;
	return store->lines + entry->lines + sizeof(size);
}
