/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A buffer over a part of a file. It has no position of its own, so what the reader skips is not
 * read. Owned by one reader.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct jitdump_window {
	int fd; /* borrowed */
	uint8_t *bytes;
	size_t capacity;
	uint64_t start; /* in the file */
	size_t size;	/* from there */
};

/* Returns 0 or -ENOMEM. */
int jitdump_window_init(struct jitdump_window *window, int fd, size_t capacity);
void jitdump_window_done(struct jitdump_window *window);

/* The bytes in the buffer from `offset` on; `ret_size` may be 0. */
const uint8_t *jitdump_window_at(
	const struct jitdump_window *window, uint64_t offset, size_t *ret_size);

/*
 * Reads `size` bytes from `offset`: fewer at the end of the file or of the buffer. Returns 0, or
 * -errno of pread() with an empty buffer.
 */
int jitdump_window_fill(struct jitdump_window *window, uint64_t offset, size_t size);

/* pread() until all is read or the file ends. Returns the bytes read, or -errno. */
ssize_t jitdump_window_pread(int fd, void *bytes, size_t size, uint64_t offset);
