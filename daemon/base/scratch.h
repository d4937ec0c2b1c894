/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Growing arrays whose contents are in an unlinked file, so that the memory an extraction needs
 * does not grow with the binary: the kernel writes pages out when it wants them back. An array is
 * contiguous and never moves: its address range is reserved at first and mapped to pieces of the
 * file as it grows. Blocks of the file are had before they are mapped, so that a full disk is an
 * error and no SIGBUS. Some of it may be in anonymous memory, as most binaries need no more than
 * that: pages of a file, which the file system has to find room for and to forget again, cost
 * several times as much. One owner, one thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct scratch {
	int fd;		       /* borrowed */
	uint64_t used_bytes;   /* by all arrays; never less, even when one is gone */
	uint64_t limit_bytes;  /* of it */
	uint64_t memory_bytes; /* that may still be anonymous; an array that is done gives back */
	uint64_t file_bytes;   /* that are not */
};

/* `fd` is an empty file, open for reading and writing, that nobody else writes to. */
void scratch_init(struct scratch *scratch, int fd, uint64_t limit_bytes);

/* What arrays grow by is memory, and not the file, as long as it fits into what is left of
 * `memory_bytes`. */
void scratch_init_in_memory(
	struct scratch *scratch, int fd, uint64_t limit_bytes, uint64_t memory_bytes);

/* All zeros is an array that is not there yet: done() takes it. */
struct scratch_array {
	struct scratch *scratch;
	void *items;
	size_t count; /* the owner's; at most `capacity` */
	size_t capacity;
	size_t item_bytes;
	size_t items_max;
	size_t mapped_bytes;
	size_t memory_bytes; /* of these, what is anonymous */
	size_t reserved_bytes;
};

/*
 * Reserves addresses for `items_max`, or for as many as the scratch's limit lets there be. Returns
 * 0 or -ENOMEM.
 */
int scratch_array_init(
	struct scratch_array *array, struct scratch *scratch, size_t item_bytes, size_t items_max);
/* Before the scratch goes, which gets the array's memory back. */
void scratch_array_done(struct scratch_array *array);

/*
 * Room for `count` items in all; more than that is made ready, so that appending is O(1) on
 * average. New ones are zeros; those that the owner had counted before are as it left them.
 * Returns 0; -EFBIG beyond items_max or the scratch's limit; -ENOSPC; -ENOMEM. The array is as it
 * was on failure.
 */
int scratch_array_reserve(struct scratch_array *array, size_t count);

/* Bytes that it may still grow by, beyond `count` items, before it meets the scratch's limit. */
uint64_t scratch_array_room(const struct scratch_array *array);

/* Room for one item more than there are. Errors as above. */
static inline int scratch_array_grow(struct scratch_array *array)
{
	return array->count < array->capacity ? 0 : scratch_array_reserve(array, array->count + 1);
}
