/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "resolve/owned_binaries.h"

#include "base/array.h"

#include <string.h>

/* Compared with memcmp(), so it has no padding. */
struct key {
	uint64_t start_ns;
	uint32_t pid;
	uint8_t build_id[BUILD_ID_BYTES];
};
_Static_assert(sizeof(struct key) == 32, "padding");

struct owned_binary {
	struct key key;
	uint32_t binary;
};

void owned_binaries_done(struct owned_binaries *binaries)
{
	hash_index_done(&binaries->index);
	free(binaries->items);
	*binaries = (struct owned_binaries){ 0 };
}

static struct key key_of(const struct broker_process *process, const struct build_id *id)
{
	struct key key = { .start_ns = process->start_ns, .pid = (uint32_t)process->pid };

	memcpy(key.build_id, id->bytes, sizeof(key.build_id));
	return key;
}

static bool is_of(const void *owner, uint32_t id, const void *key)
{
	const struct owned_binaries *binaries = owner;

	return memcmp(&binaries->items[id].key, key, sizeof(struct key)) == 0;
}

uint32_t owned_binaries_find(const struct owned_binaries *binaries,
	const struct broker_process *process, const struct build_id *id)
{
	struct key key = key_of(process, id);
	uint32_t item = hash_index_find(
		&binaries->index, hash_bytes(&key, sizeof(key)), is_of, binaries, &key);

	return item == HASH_INDEX_NONE ? OWNED_BINARIES_UNKNOWN : binaries->items[item].binary;
}

int owned_binaries_add(struct owned_binaries *binaries, const struct broker_process *process,
	const struct build_id *id, uint32_t binary)
{
	struct key key = key_of(process, id);
	int r;

	/* Without a start time, a later process with the same pid would match. */
	if (process->start_ns == 0)
		return 0;
	if (binaries->count == OWNED_BINARIES_MAX)
		owned_binaries_done(binaries);
	r = ARRAY_RESERVE(
		binaries->items, &binaries->capacity, binaries->count + 1, OWNED_BINARIES_MAX);
	if (r == 0)
		r = hash_index_reserve(&binaries->index);
	if (r < 0)
		return r;
	hash_index_insert(
		&binaries->index, hash_bytes(&key, sizeof(key)), (uint32_t)binaries->count);
	binaries->items[binaries->count++] = (struct owned_binary){ .key = key, .binary = binary };
	return 0;
}
