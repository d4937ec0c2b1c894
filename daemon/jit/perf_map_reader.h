/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Follows a perf-PID.map while it is being written: lines of START SIZE NAME, in hexadecimal
 * (tools/perf/Documentation/jit-interface.txt of the Linux kernel). Writers put 0x before none, one
 * or both of the numbers, blanks in names, and a '$' before Erlang's. It tells no times, so the
 * last line for an address wins: all lines go into the index as of time 0, and of equal times the
 * later one counts. A line without its end is waited for; a file that has become shorter, or in
 * which something else stands at its beginning or before where reading has come to, was written
 * anew.
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

/* Of a longer line the beginning counts: its name loses its end. */
enum { PERF_MAP_LINE_BYTES_MAX = 8192 };

struct perf_map_line {
	uint64_t address, size; /* size > 0 */
	const char *name;	/* borrowed; no newline or NUL in it, any other byte; not empty */
	size_t name_size;
	bool is_erlang; /* the form of its numbers and a '$', which `name` is without */
};

/*
 * A line without its newline, which may begin with blanks and end with a carriage return. Returns
 * 0, or -EBADMSG for one that is none, has a NUL in it or is of no use: of no size, or beyond the
 * end of the address space.
 */
int perf_map_line_parse(const char *line, size_t size, struct perf_map_line *ret_line);

struct perf_map_counters {
	uint64_t bytes; /* of lines that were taken or passed over */
	uint64_t lines; /* all of them */
	uint64_t malformed;
	uint64_t restarts; /* the file was written anew */
};

/* Takes `fd`, whatever becomes of it. Returns 0 or -ENOMEM. */
int perf_map_reader_new(int fd, struct perf_map_reader **ret_reader);
void perf_map_reader_free(struct perf_map_reader *reader);
DEFINE_CLEANUP(struct perf_map_reader, perf_map_reader_free);

/*
 * Reads on and puts what it finds into `index`, as of time 0 and of writer 0, until the file's end
 * or until `steps` are used up: about one for each line and one for each 4 KiB. Where the file was
 * written anew, `index` forgets what it said before. With `is_final` a last line needs no newline:
 * nobody will add to it. Returns how many steps are left (0: there may be more to read) or -ENOMEM,
 * after which it goes on with the line that it was about. A file that cannot be read is as one that
 * ends.
 */
int64_t perf_map_reader_run(
	struct perf_map_reader *reader, struct code_index *index, bool is_final, int64_t steps);

struct perf_map_reader_state {
	uint64_t file_bytes;   /* at the last look */
	uint64_t unread_bytes; /* of them */
	bool is_erlang;	       /* by its names */
	struct perf_map_counters counters;
};
void perf_map_reader_state(
	const struct perf_map_reader *reader, struct perf_map_reader_state *ret_state);
size_t perf_map_reader_bytes(const struct perf_map_reader *reader);
