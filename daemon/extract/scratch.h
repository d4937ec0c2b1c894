/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Growing arrays whose contents are in an unlinked file, so that the memory an extraction needs
 * does not grow with the binary: the kernel writes pages out when it wants them back. An array is
 * contiguous and never moves: its address range is reserved at first and mapped to pieces of the
 * file as it grows. One owner, one thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct scratch {
	int fd;		      /* borrowed */
	uint64_t used_bytes;  /* of the file */
	uint64_t limit_bytes; /* all arrays together */
};

void scratch_init(struct scratch *scratch, int fd, uint64_t limit_bytes);

struct scratch_array {
	struct scratch *scratch;
	void *items;
	size_t count; /* the owner's; at most `capacity` */
	size_t capacity;
	size_t item_bytes;
	size_t items_max;
};

/* Reserves addresses for `items_max`. Returns 0 or -ENOMEM. */
int scratch_array_init(
	struct scratch_array *array, struct scratch *scratch, size_t item_bytes, size_t items_max);
void scratch_array_done(struct scratch_array *array);

/* Room for `count` items in all. New ones are zeros. Returns 0; -EFBIG beyond items_max or the
 * scratch's limit; -ENOSPC; -ENOMEM. The array is as it was on failure. */
int scratch_array_reserve(struct scratch_array *array, size_t count);
