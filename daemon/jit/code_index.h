/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which code was where, and when (I3). What runs at an address at some time is the newest code that
 * was put over it until then; code that is put over a part of other code ends that part alone, and
 * code that is moved away leaves nothing. Facts may come in any order of their times: that of the
 * times counts, and of equal times that in which they came.
 *
 * Addresses are cut into segments, each with a list of the code that was there, newest first; the
 * lists of neighbours share their tails. So a fact costs the segments that it covers, and a
 * question the search for one segment and a few steps.
 *
 * Bounded (I4) in bytes, names and lines included. Where the bound is reached, what is not needed
 * goes: first what had ended before code_index_retire()'s time, then all that has ended, then
 * source lines, then the oldest code; each is counted. One owner, one thread.
 */
#pragma once

#include "base/cleanup.h"
#include "jit/line_list.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct code_index;

struct code_index_counters {
	uint64_t loads, moves;	/* facts that were taken */
	uint64_t moves_unknown; /* of code that is not there */
	uint64_t refused;   /* empty, or beyond the end of the address space, or no room at all */
	uint64_t reordered; /* came later than their time */
	uint64_t displaced; /* of those, too late to be put where they belong: not taken there */
	/* What went for want of room, in pieces of code; but see code_index_load(). */
	uint64_t history_dropped, lines_dropped, code_dropped;
};

/* Some code; `name` need not be UTF-8 nor NUL-terminated, and is kept cleaned and elided. */
struct code_load {
	uint64_t time_ns;
	uint64_t address, size; /* in bytes */
	uint32_t writer;	/* who told: of code_view */
	const char *name;
	size_t name_size;
	const uint8_t
		*lines; /* of a line_list, whose files are ids of code_index_file(); or NULL */
	size_t lines_size;
};

struct code_move {
	uint64_t time_ns;
	uint64_t from, to, size;
	uint32_t writer;
};

/*
 * Whose code counts for one who asks: of writer W what was put there before until_ns[W], and since
 * since_ns; a writer at or above `count`, everything since then. NULL in the place of a view: all.
 */
struct code_view {
	uint64_t since_ns;
	const uint64_t *until_ns;
	uint32_t count;
};

/* Strings are borrowed until the next load, move, retire or file. */
struct code_found {
	const char *name;
	const char *file; /* NULL: not known */
	uint32_t line;	  /* 0: not known */
	uint32_t column;  /* 0: not known */
	uint64_t address, size;
	uint64_t time_ns; /* since when */
	/* The answer is the same, as far as is known now, for all times from `time_ns` to this. */
	uint64_t until_ns; /* UINT64_MAX: it is there still */
};

/* Returns 0 or -ENOMEM. */
int code_index_new(size_t limit_bytes, struct code_index **ret_index);
void code_index_free(struct code_index *index);
DEFINE_CLEANUP(struct code_index, code_index_free);

/*
 * The id of a source file for line_entry.file; 0 for an empty name. It is good for as long as the
 * index: where the file has gone with the lines, for want of room, it is taken for unknown. Returns
 * 0, -ENOMEM, or -E2BIG where there is no room.
 */
int code_index_file(struct code_index *index, const char *name, size_t size, uint32_t *ret_file);

/*
 * Facts. Return 0, -EINVAL for what makes no sense, -ENOENT for a move of what is not there, -E2BIG
 * where there is no room even for it alone (all counted), or -ENOMEM: nothing of it was taken.
 *
 * What came late is put below at most 32 newer ones, and one fact adds at most 128 nodes to lists.
 * Code that is put over more than 64 segments takes them as one, without what was there before,
 * which counts as history that is dropped; lines that are too many alone count as dropped too. A
 * move takes the code that begins at `from` at its time, whoever put it there, and ends it wherever
 * it still is.
 */
int code_index_load(struct code_index *index, const struct code_load *load);
int code_index_move(struct code_index *index, const struct code_move *move);

/* What was at `address` at `time_ns`. False: nothing that is known of. */
bool code_index_find(const struct code_index *index, uint64_t address, uint64_t time_ns,
	const struct code_view *view, struct code_found *ret_found);

/*
 * Nobody will ask for times before this any more, nor with a view in which a writer ends before it
 * (but one that does not count at all, with an until_ns of 0). What a list is cut down to has the
 * newest code of each of the writers among the 16 newest facts; those from 255 on are taken for
 * one.
 */
void code_index_retire(struct code_index *index, uint64_t time_ns);

/* Forgets all code, but no counter. Returns 0, or -ENOMEM, with which it is as it was. */
int code_index_clear(struct code_index *index);

/* Another bound, which may be below what it holds: it is then kept to at the next fact. */
void code_index_set_limit(struct code_index *index, size_t limit_bytes);

/* Keeps to it at once. Returns 0, -E2BIG where that cannot be, or -ENOMEM. */
int code_index_trim(struct code_index *index);

/*
 * Calls `function` for each stretch of code at `time_ns` in the order of addresses, until it
 * returns anything but 0, which is returned. `found` has its name and times, no line, and of the
 * code what is left of it as address and size. `function` must not change the index.
 */
typedef int (*code_index_function)(void *context, const struct code_found *found);
int code_index_each(const struct code_index *index, uint64_t time_ns, const struct code_view *view,
	code_index_function function, void *context);

size_t code_index_bytes(const struct code_index *index);
size_t code_index_count(const struct code_index *index); /* of code that is there now */
void code_index_counters(const struct code_index *index, struct code_index_counters *ret_counters);
