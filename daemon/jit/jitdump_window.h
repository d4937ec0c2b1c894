/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The part of a file that is in memory while it is being read, in large steps and without a
 * position of its own: what is jumped over is not read. Owned by one reader.
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

/* What there is at `offset`, and how much: maybe nothing. */
const uint8_t *jitdump_window_at(
	const struct jitdump_window *window, uint64_t offset, size_t *ret_size);

/*
 * Reads the file from `offset` on, `size` bytes or as many as there is room for, or fewer at the
 * file's end. Returns 0, or what pread() failed with as -errno, with nothing in the window.
 */
int jitdump_window_fill(struct jitdump_window *window, uint64_t offset, size_t size);

/* pread() until it has all, or the file ends. Returns how much, or -errno. */
ssize_t jitdump_window_pread(int fd, void *bytes, size_t size, uint64_t offset);
