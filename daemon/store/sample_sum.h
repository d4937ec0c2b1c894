/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A hash table of sums by (thread, node), for many windows that share these pairs. Not thread-safe.
 * The owner bounds and empties it.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct sample_sum {
	struct sample_sum_slot {
		uint64_t key; /* upper half: thread + 1, lower half: node; 0: free */
		uint64_t value;
	} * slots;
	size_t capacity; /* 0 or a power of two */
	size_t count;
};

void sample_sum_done(struct sample_sum *sum);

/* Removes all sums and keeps the memory for reuse. */
void sample_sum_clear(struct sample_sum *sum);

/* Adds `value`; `thread` < UINT32_MAX. Returns 0, -ENOMEM, or -E2BIG beyond `limit` sums. */
int sample_sum_add(
	struct sample_sum *sum, uint32_t thread, uint32_t node, uint64_t value, size_t limit);

/* Multiplication by 2^64 / φ mixes the upper bits well. */
static inline size_t sample_sum_place(const struct sample_sum *sum, uint64_t key)
{
	return (size_t)(key * 0x9e3779b97f4a7c15U >> 24) & (sum->capacity - 1);
}

/* Prefetches the slot for a coming sample_sum_add(). */
static inline void sample_sum_expect(const struct sample_sum *sum, uint32_t thread, uint32_t node)
{
	if (sum->capacity > 0)
		__builtin_prefetch(
			&sum->slots[sample_sum_place(sum, ((uint64_t)thread + 1) << 32 | node)]);
}

static inline uint32_t sample_sum_thread(const struct sample_sum_slot *slot)
{
	return (uint32_t)(slot->key >> 32) - 1;
}

static inline uint32_t sample_sum_node(const struct sample_sum_slot *slot)
{
	return (uint32_t)slot->key;
}
