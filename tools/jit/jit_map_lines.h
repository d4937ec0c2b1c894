/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Follows the lines that are appended to a perf map. A file that has become shorter was rewritten,
 * and is read from its start. Malformed lines are skipped. One thread.
 */
#pragma once

#include "jit/perf_map_reader.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct jit_map_lines {
	int fd;		  /* borrowed */
	uint64_t at;	  /* the file offset up to which it is read */
	size_t used;	  /* bytes of an incomplete line */
	bool is_skipping; /* in the rest of a line that is too long, or began before we did */
	char bytes[PERF_MAP_LINE_BYTES_MAX];
};

/* Starts at the file's start, or at its end. Returns 0 or -errno. */
int jit_map_lines_init(struct jit_map_lines *lines, int fd, bool is_from_start);

/* A result other than 0 ends the reading and is returned. */
typedef int (*jit_map_line_function)(void *context, const struct perf_map_line *line);

/*
 * Calls `function` for each new line up to the end of the file. With `is_final` the last line needs
 * no newline. Returns 0, -errno, or the result of `function`.
 */
int jit_map_lines_run(
	struct jit_map_lines *lines, bool is_final, jit_map_line_function function, void *context);
