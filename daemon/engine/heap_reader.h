/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the allocators in files, in a thread of its own: the thread that drains must not wait for a
 * disk (I5). At most HEAP_READER_FILES at a time (I4). All functions are for one other thread.
 */
#pragma once

#include "base/cleanup.h"
#include "engine/heap_functions.h"

#include <stdbool.h>
#include <stdint.h>

enum { HEAP_READER_FILES = 16 };

struct heap_reader;

/* A file that was read. */
struct heap_file {
	uint64_t identity;
	int result; /* of heap_functions_find() */
	struct heap_function functions[HEAP_FUNCTIONS_MAX];
};

/*
 * The thread calls `enter` first, if it is not NULL: to forbid itself what it does not need, as a
 * sandbox that this process enters later is not the thread's. Returns 0, -ENOMEM, what `enter`
 * returned, or another -errno.
 */
int heap_reader_new(int (*enter)(void), struct heap_reader **ret_reader);
void heap_reader_free(struct heap_reader *reader);
DEFINE_CLEANUP(struct heap_reader, heap_reader_free);

/* Readable while a file has been read that was not taken; borrowed. */
int heap_reader_poll_fd(const struct heap_reader *reader);

/* Is this file being read, or waits to be taken? */
bool heap_reader_has(struct heap_reader *reader, uint64_t identity);
bool heap_reader_is_full(struct heap_reader *reader);

/* Begins to read a file that it has not, if it is not full. Takes the descriptor. */
void heap_reader_add(struct heap_reader *reader, uint64_t identity, int fd);

/* Takes a file that has been read, or, with `waits`, that is being read. Returns false: there is
 * none. */
bool heap_reader_take(struct heap_reader *reader, bool waits, struct heap_file *ret_file);
