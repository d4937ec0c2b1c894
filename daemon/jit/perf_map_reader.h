/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Follows a perf-PID.map while it is written: lines of START SIZE NAME, the numbers hexadecimal
 * (tools/perf/Documentation/jit-interface.txt of the Linux kernel). Writers put 0x before both, one
 * or none of the numbers, blanks into names, and Erlang a '$' before them. A perf map has no times,
 * so all lines enter the index with time 0, and the last line for an address counts. The reader
 * waits for the end of an unfinished line, and skips NULs and holes between lines. A file that
 * shrinks, or that changes at its start or right before the position of the reader, was rewritten
 * and is read again.
 *
 * One owner, one thread.
 */
#pragma once

#include "base/cleanup.h"
#include "jit/code_index.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct perf_map_reader;

/* A longer line is cut: its name loses its end. */
enum { PERF_MAP_LINE_BYTES_MAX = 8192 };

struct perf_map_line {
	uint64_t address, size; /* size > 0 */
	const char *name;	/* borrowed; not empty; any bytes except newline and NUL */
	size_t name_size;
	bool is_erlang; /* it has Erlang's form of numbers and a '$', which `name` omits */
};

/*
 * Parses a line without its newline; it may begin with blanks and end with a carriage return.
 * Returns 0, or -EBADMSG: not a line of a perf map, a NUL in it, size 0, or past the end of the
 * address space.
 */
int perf_map_line_parse(const char *line, size_t size, struct perf_map_line *ret_line);

struct perf_map_counters {
	uint64_t bytes; /* of all lines that were read or skipped */
	uint64_t lines; /* malformed ones included */
	uint64_t malformed;
	uint64_t restarts; /* how often the file was rewritten */
};

/* Takes ownership of `fd`, on failure, too. Returns 0 or -ENOMEM. */
int perf_map_reader_new(int fd, struct perf_map_reader **ret_reader);
void perf_map_reader_free(struct perf_map_reader *reader);
DEFINE_CLEANUP(struct perf_map_reader, perf_map_reader_free);

/*
 * A watcher sees each line that could be parsed, for commands that show lines. A result other than
 * 0 ends the run and is returned.
 */
typedef int (*perf_map_line_function)(void *context, const struct perf_map_line *line);
void perf_map_reader_set_watcher(
	struct perf_map_reader *reader, perf_map_line_function function, void *context);

/*
 * Reads new lines into `index` (NULL: none), with time 0 and writer 0, until the end of the file or
 * until `steps` are used up: about one for each line and each 4 KiB. If the file was rewritten,
 * `index` is cleared first. With `is_final` the last line needs no newline, as its writer is gone.
 * Returns the steps that are left (0: there may be more to read), -ENOMEM, or the watcher's error;
 * the next run then reads the same line again. A file that cannot be read counts as one that ends.
 */
int64_t perf_map_reader_run(
	struct perf_map_reader *reader, struct code_index *index, bool is_final, int64_t steps);

struct perf_map_reader_state {
	uint64_t file_bytes;   /* at the last run */
	uint64_t unread_bytes; /* of them */
	bool is_erlang;	       /* judging by its names */
	struct perf_map_counters counters;
};
void perf_map_reader_state(
	const struct perf_map_reader *reader, struct perf_map_reader_state *ret_state);
size_t perf_map_reader_bytes(const struct perf_map_reader *reader);
