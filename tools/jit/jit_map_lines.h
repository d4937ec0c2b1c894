/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The lines that are added to a perf map, one after the other. A file that has become shorter was
 * written anew, and is read from its start. Lines that are none are passed over. One thread.
 */
#pragma once

#include "jit/perf_map_reader.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct jit_map_lines {
	int fd;		  /* borrowed */
	uint64_t at;	  /* in the file: up to where it is read */
	size_t used;	  /* of `bytes`: the beginning of a line */
	bool is_skipping; /* the rest of a line that is too long, or was there before */
	char bytes[PERF_MAP_LINE_BYTES_MAX];
};

/* From the file's start, or else from its end on. Returns 0 or -errno. */
int jit_map_lines_init(struct jit_map_lines *lines, int fd, bool is_from_start);

/* Anything but 0 ends the reading and is returned. */
typedef int (*jit_map_line_function)(void *context, const struct perf_map_line *line);

/*
 * Calls `function` for what has been added, until the end of the file. With `is_final` the last
 * line needs no newline. Returns 0, -errno, or what `function` returned.
 */
int jit_map_lines_run(
	struct jit_map_lines *lines, bool is_final, jit_map_line_function function, void *context);
