/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An index of generated code: which code was at an address at some time (I3). The answer is the
 * newest code that was put over the address until then. Code that is moved leaves its old place
 * empty. Facts may arrive in any order: their times decide, and of equal times the arrival.
 *
 * Processes that share a file share its index. A fork copies nothing: it asks with a view, which
 * says whose facts count for it, and until when.
 *
 * Bounded (I4) in bytes, with names and lines. At the limit the index gives up, in this order: code
 * that was replaced before the time of code_index_retire(), all code that was replaced, source
 * lines, the oldest code. What it gives up after the first is counted. One owner, one thread.
 */
#pragma once

#include "base/cleanup.h"
#include "jit/line_list.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct code_index;

struct code_index_counters {
	uint64_t loads, moves;	/* facts that were accepted */
	uint64_t moves_unknown; /* of code that is not known */
	uint64_t refused;   /* empty, past the end of the address space, or larger than the limit */
	uint64_t reordered; /* arrived after facts of later times */
	uint64_t displaced; /* of those, ignored: too many facts were newer */
	/* Given up at the limit, in functions: replaced code, source lines, live code. */
	uint64_t history_dropped, lines_dropped, code_dropped;
};

/* `name` may hold any bytes, without a NUL; it becomes clean UTF-8 of at most 1 KiB. */
struct code_load {
	uint64_t time_ns;
	uint64_t address, size; /* in bytes */
	uint32_t writer;	/* the number of the writing process: see code_view */
	const char *name;
	size_t name_size;
	const uint8_t *lines; /* a packed line_list with files of code_index_file(), or NULL */
	size_t lines_size;
};

struct code_move {
	uint64_t time_ns;
	uint64_t from, to, size;
	uint32_t writer;
};

/*
 * Which facts count for one process: those of writer W from since_ns to before until_ns[W]. Writers
 * from `count` on count without an end. A NULL view counts all facts.
 */
struct code_view {
	uint64_t since_ns;
	const uint64_t *until_ns;
	uint32_t count;
};

/* Strings are borrowed until the index changes. */
struct code_found {
	const char *name;
	const char *file; /* NULL: unknown */
	uint32_t line;	  /* 0: unknown */
	uint32_t column;  /* 0: unknown */
	uint64_t address, size;
	uint64_t time_ns;  /* since when the code has been there */
	uint64_t until_ns; /* when other code replaces it; UINT64_MAX: it is still there */
};

/* Returns 0 or -ENOMEM. */
int code_index_new(size_t limit_bytes, struct code_index **ret_index);
void code_index_free(struct code_index *index);
DEFINE_CLEANUP(struct code_index, code_index_free);

/*
 * The id of a source file for line_entry.file; 0 for an empty name. An id is never reused: once
 * lines were dropped at the limit, an old id means an unknown file. Returns 0, -ENOMEM, or -E2BIG
 * if files have used up their share of the limit.
 */
int code_index_file(struct code_index *index, const char *name, size_t size, uint32_t *ret_file);

/*
 * Add facts. Return 0, -EINVAL for an impossible range, -ENOENT for a move of unknown code, -E2BIG
 * if there is no room even for the fact alone (all counted), or -ENOMEM. After an error the index
 * has not taken the fact.
 *
 * Lines that alone exceed half of the limit are dropped and counted. A move takes the code that
 * begins at `from` at its time, whoever wrote it.
 */
int code_index_load(struct code_index *index, const struct code_load *load);
int code_index_move(struct code_index *index, const struct code_move *move);

/* Finds the code at `address` at `time_ns`. False: none is known. */
bool code_index_find(const struct code_index *index, uint64_t address, uint64_t time_ns,
	const struct code_view *view, struct code_found *ret_found);

/*
 * Promises that no question will be about an earlier time, or come with a view in which the facts
 * of a writer end earlier (but an until_ns of 0 is allowed).
 */
void code_index_retire(struct code_index *index, uint64_t time_ns);

/* Forgets all code. Counters and files stay. */
void code_index_clear(struct code_index *index);

/* Sets another limit. If it is lower than what the index holds, the next fact makes room. */
void code_index_set_limit(struct code_index *index, size_t limit_bytes);

/* Makes room at once. Returns 0, -E2BIG if the limit cannot be met, or -ENOMEM. */
int code_index_trim(struct code_index *index);

/*
 * Calls `function` for each stretch of code at `time_ns` in the order of addresses, until it
 * returns another value than 0. The address and size are those of the stretch; lines are not
 * looked up. Returns that value, 0, or -ENOMEM. `function` must not change the index.
 */
typedef int (*code_index_function)(void *context, const struct code_found *found);
int code_index_each(const struct code_index *index, uint64_t time_ns, const struct code_view *view,
	code_index_function function, void *context);

size_t code_index_bytes(const struct code_index *index);
/*
 * How many functions are there now, those of each writer by themselves: O(n log n), for reports. 0
 * if there is no memory to count.
 */
size_t code_index_count(const struct code_index *index);
void code_index_counters(const struct code_index *index, struct code_index_counters *ret_counters);
