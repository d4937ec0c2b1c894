/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One line of /proc/PID/maps, whose paths are chosen by whoever made the files (I8). */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The longest line that the kernel makes: addresses, and a path whose every byte is escaped. */
enum { MAPS_LINE_BYTES_MAX = 128 + 4 * PATH_MAX };

struct maps_line {
	uint64_t start, end; /* start < end */
	uint64_t offset;     /* of start in the file */
	uint64_t inode;	     /* 0: no file */
	uint32_t device_major, device_minor;
	bool is_executable;
	bool is_deleted;  /* " (deleted)" has been taken off the path */
	const char *path; /* borrowed from the line, not NUL-terminated, as the kernel escapes it */
	size_t path_size; /* 0: anonymous */
};

/* `size` bytes without the newline. Returns 0 or -EINVAL. */
int maps_line_parse(const char *line, size_t size, struct maps_line *ret_line);

/*
 * The path as the process knows it: the kernel writes a newline as \012 and nothing else, not even
 * the backslash, so a name that holds those four characters reads as one with a newline. With a NUL
 * at its end. Returns 0, or -ENAMETOOLONG when `path` has no room for it.
 */
int maps_line_path(const struct maps_line *line, char *path, size_t room);

/* Takes the kernel's " (deleted)" off the end of a path of *size bytes, and says whether it was
 * there. */
bool maps_line_strip_deleted(const char *path, size_t *size);
