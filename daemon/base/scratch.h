/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Growing arrays for data that may not fit in memory. The arrays of one scratch share a memory
 * budget and an unlinked file. The first memory_bytes are anonymous memory, which is several times
 * as cheap as pages of a file. Everything beyond is mapped from the file, so the kernel can write
 * it to disk when memory is short.
 *
 * An array never moves: init reserves its whole address range, and growing makes the next part
 * usable. File blocks are allocated before they are mapped, so a full disk is -ENOSPC and not
 * SIGBUS. Space is never reused, not even the space of a freed array. One owner, one thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct scratch {
	int fd;		       /* borrowed */
	uint64_t limit_bytes;  /* of memory and file together */
	uint64_t memory_bytes; /* the first bytes up to here are anonymous memory */
	uint64_t used_bytes;   /* by all arrays, freed ones included; also the next file offset */
};

/* `fd` is an empty file, open for reading and writing, that has no other writer. */
void scratch_init(struct scratch *scratch, int fd, uint64_t limit_bytes, uint64_t memory_bytes);

/* All zeros is an empty array that only scratch_array_done() accepts. */
struct scratch_array {
	struct scratch *scratch; /* borrowed */
	void *items;
	size_t count; /* set by the owner; at most `capacity` */
	size_t capacity;
	size_t item_bytes;
	size_t items_max;
	size_t mapped_bytes;
	size_t reserved_bytes;
};

/*
 * Reserves addresses for `items_max` items, or for as many as fit in the scratch's limit. Returns 0
 * or -ENOMEM.
 */
int scratch_array_init(
	struct scratch_array *array, struct scratch *scratch, size_t item_bytes, size_t items_max);
/* Unmaps the items. Accepts an array of zeros. */
void scratch_array_done(struct scratch_array *array);

/*
 * Makes room for `count` items in all; grows by half, so that appending is O(1) on average. New
 * items are zeros, unless the owner wrote to them before it lowered `count`. Returns 0; -EFBIG
 * beyond items_max or the scratch's limit; -ENOSPC; -ENOMEM. An error leaves the array unchanged.
 */
int scratch_array_reserve(struct scratch_array *array, size_t count);

/* The bytes by which the array can grow beyond `count` items within the scratch's limit. */
uint64_t scratch_array_room(const struct scratch_array *array);

/* Makes room for one more item. Errors as scratch_array_reserve(). */
static inline int scratch_array_grow(struct scratch_array *array)
{
	return array->count < array->capacity ? 0 : scratch_array_reserve(array, array->count + 1);
}

/*
 * Appends a copy of an item, whose size must be the array's `item_bytes`: as a constant, it makes
 * the copy cheap. Errors as scratch_array_reserve().
 */
static inline int scratch_array_append(
	struct scratch_array *array, const void *item, size_t item_bytes)
{
	int r = scratch_array_grow(array);

	if (r == 0)
		memcpy((char *)array->items + array->count++ * item_bytes, item, item_bytes);
	return r;
}

/* Returns the integer that an item is sorted by, in ascending order. */
typedef uint64_t (*scratch_sort_key)(const void *item);

/*
 * Sorts the array by the first key; equal items by the second key, and so on. The sort is stable.
 * It is a radix sort, so no hostile file can make it slow (I8). It uses as much scratch as the
 * array does. Errors as scratch_array_reserve(); the array is then unchanged.
 */
int scratch_sort(struct scratch_array *array, const scratch_sort_key *keys, size_t key_count);
