/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parses a line of /proc/PID/maps. Any user can choose the paths in it (I8). */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The kernel's longest line: the addresses, and a path in which every byte is escaped. */
enum { MAPS_LINE_BYTES_MAX = 128 + 4 * PATH_MAX };

struct maps_line {
	uint64_t start, end; /* start < end */
	uint64_t offset;     /* of start in the file */
	uint64_t inode;	     /* 0: no file */
	uint32_t device_major, device_minor;
	bool is_executable;
	bool is_deleted;  /* " (deleted)" was cut off the path */
	const char *path; /* borrowed from the line; no NUL; kernel's escapes */
	size_t path_size; /* 0: anonymous */
};

/* Parses `size` bytes without the newline. Returns 0 or -EINVAL. */
int maps_line_parse(const char *line, size_t size, struct maps_line *ret_line);

/*
 * Decodes the path and ends it with a NUL. The kernel escapes a newline as \012 and nothing else,
 * not even the backslash. A name that holds those four characters therefore reads as one with a
 * newline. Returns 0, or -ENAMETOOLONG if `path` has no room.
 */
int maps_line_path(const struct maps_line *line, char *path, size_t room);

/* Removes the kernel's " (deleted)" from the end of a path of *size bytes. True: it was there. */
bool maps_line_strip_deleted(const char *path, size_t *size);
