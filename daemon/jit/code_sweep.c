/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "jit/code_sweep.h"

#include "base/cleanup.h"

#include <errno.h>
#include <stdlib.h>

/* The code at the present address and some that has ended: a heap with the newest at the top. */
struct heap {
	const struct code_store *store;
	uint32_t *ids;
	size_t count;
};

static bool heap_rises(const struct heap *heap, size_t at, size_t above)
{
	return code_store_is_newer(heap->store, heap->ids[at], heap->ids[above]);
}

static void heap_swap(struct heap *heap, size_t a, size_t b)
{
	uint32_t id = heap->ids[a];

	heap->ids[a] = heap->ids[b];
	heap->ids[b] = id;
}

static void heap_push(struct heap *heap, uint32_t id)
{
	size_t at = heap->count++;

	heap->ids[at] = id;
	for (; at > 0 && heap_rises(heap, at, (at - 1) / 2); at = (at - 1) / 2)
		heap_swap(heap, at, (at - 1) / 2);
}

static void heap_pop(struct heap *heap)
{
	size_t at = 0, below;

	heap->ids[0] = heap->ids[--heap->count];
	while ((below = 2 * at + 1) < heap->count) {
		if (below + 1 < heap->count && heap_rises(heap, below + 1, below))
			below++;
		if (!heap_rises(heap, below, at))
			return;
		heap_swap(heap, at, below);
		at = below;
	}
}

static int compare_address(const void *a, const void *b, void *store)
{
	const struct code_entry *entries = ((const struct code_store *)store)->entries;
	uint64_t left = entries[*(const uint32_t *)a].address;
	uint64_t right = entries[*(const uint32_t *)b].address;

	return (left > right) - (left < right);
}

static uint64_t last_of(const struct code_store *store, uint32_t id)
{
	return store->entries[id].address + (store->entries[id].size - 1);
}

int code_sweep(const struct code_store *store, uint32_t *ids, size_t count,
	code_sweep_function function, void *context)
{
	_cleanup_free_ uint32_t *room = malloc((count + 1) * sizeof(*room));
	struct heap heap = { store, room, 0 };
	uint64_t address = 0;
	size_t next = 0;

	if (!room)
		return -ENOMEM;
	qsort_r(ids, count, sizeof(*ids), compare_address, (void *)store);
	while (next < count || heap.count > 0) {
		uint64_t last;

		if (heap.count == 0)
			address = store->entries[ids[next]].address;
		while (next < count && store->entries[ids[next]].address <= address)
			heap_push(&heap, ids[next++]);
		last = last_of(store, heap.ids[0]);
		if (last < address) {
			heap_pop(&heap);
			continue;
		}
		function(context, heap.ids[0]);
		/* To the next address where another may be the newest. */
		if (next < count && store->entries[ids[next]].address <= last)
			address = store->entries[ids[next]].address;
		else if (last == UINT64_MAX)
			break;
		else
			address = last + 1;
	}
	return 0;
}
