/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the sampler's walk knows of files is decided here: which of them it is told of, which tables
 * are in its arrays, and which make room when the arrays are full. Knows nothing of BPF: the maps
 * are behind callbacks, and the arrays are memory.
 *
 * The sampler reads all the while. So a table is in the arrays before the sampler is told of it,
 * and the sampler is told that it is gone before its place is given to another, in a later window.
 *
 * Files of one identity whose tables are the same share one place in the arrays.
 *
 * A table that a stack went through in this window or the two before is displaced by nothing: where
 * the working set is bigger than the arrays, some tables stay out rather than all of them taking
 * turns. What stays out is loaded when it is still in use and room has come about. But one that
 * takes more than a quarter of an array has its place only as long as there is room for the others:
 * it leaves, in use or not, for a smaller one that could not be placed otherwise; one a window.
 *
 * A table that could not be had is tried again while its file is in use, after 2, 4, ... 64
 * windows; a file that could not be identified is asked for again after 1, 2, ... 64 windows.
 *
 * One owner, one thread. Bounded by the arrays and `files_max` (I4).
 */
#pragma once

#include "base/cleanup.h"
#include "pilotlight/walk.h"
#include "unwind/table_store.h"
#include "unwind/walk_files.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct symbol_file;
struct symbol_identity;
struct unwinder;

/*
 * What the sampler is told of files. Each returns 0 or -errno; on failure the sampler knows what it
 * knew before. A file that is put again replaces what was told of it.
 */
struct unwinder_maps {
	void *context;
	int (*put_file)(void *context, const struct pilotlight_file_key *key,
		const struct pilotlight_walk_file *file);
	int (*drop_file)(void *context, const struct pilotlight_file_key *key);
	/* What the sampler last wrote in pilotlight_walk_file.used_window. */
	int (*used_window)(
		void *context, const struct pilotlight_file_key *key, uint32_t *ret_window);
};

struct unwinder_settings {
	struct unwinder_maps maps;
	struct table_store_arrays arrays;
	size_t files_max; /* up to PILOTLIGHT_WALK_FILES_MAX */
	/* Where ids of files begin. Another one each time, where frames may still come that name
	 * the files of an unwinder that is gone. */
	uint32_t first_file_id;
	uint16_t machine; /* EM_…: whose code is walked */
};

/* Returns 0 or -ENOMEM. */
int unwinder_new(const struct unwinder_settings *settings, struct unwinder **ret_unwinder);
void unwinder_free(struct unwinder *unwinder);
DEFINE_CLEANUP(struct unwinder, unwinder_free);

/*
 * Once a window, after the flip: every program that ran before the flip has ended, and since then
 * no other function of the unwinder has been called. `window` is the one that the sampler notes
 * from now on; windows ascend.
 */
void unwinder_begin_window(struct unwinder *unwinder, uint32_t window);

/*
 * A stack went through a file: the sampler is told that it is known, without a table as yet. A new
 * one, or one that was set aside, waits for unwinder_set_table(), unwinder_set_nothing() or
 * unwinder_set_later(). `binary` is the caller's number for it, kept as the latest that is not
 * WALK_FILES_UNKNOWN_BINARY. Returns 0; -ENOSPC the files in use are as many as can be (counted);
 * -ENOMEM; or the error of a map.
 */
int unwinder_want(struct unwinder *unwinder, const struct pilotlight_file_key *key, uint32_t binary,
	uint32_t *ret_file_id, bool *ret_is_new);

/*
 * A stack went through a file, and which one it is could not be told. Where the sampler has no
 * caller it guesses by frame pointers, has frames tell addresses, and does not ask for the file for
 * some windows: twice as many after each failure, and the most of all at once where `is_hopeless`.
 * Nothing happens where the file is known by now. Returns 0; -ENOSPC there are too many files, or a
 * quarter of all that can be are of this kind: the sampler goes on asking; -ENOMEM; or the error of
 * a map.
 */
int unwinder_set_aside(
	struct unwinder *unwinder, const struct pilotlight_file_key *key, bool is_hopeless);

/* What a file's contents are known by, for whoever looks for its table again; kept in walk_file. */
void unwinder_set_identity(
	struct unwinder *unwinder, uint32_t file_id, const struct symbol_identity *identity);

/*
 * Loads the table in `file`, which is borrowed for the call, in place of one that is loaded: that
 * one stays where this one cannot be. Returns
 *   0          it is loaded, or is not needed: functions without a table keep frame pointers
 *   -ENOSPC    there is no room now: see unwinder_next_reload()
 *   -EFBIG     there can never be
 *   -ENODATA   there is nothing in it for this machine
 *   -EBADMSG   it is damaged (counted)
 *   -ENOENT    the file is not known, or not any more
 *   -ENOMEM, or the error of a map: it stays as it was.
 */
int unwinder_set_table(struct unwinder *unwinder, uint32_t file_id, const struct symbol_file *file);

/* There is no table to be had; one that is loaded stays. Returns 0, -ENOENT, or the error of a map.
 */
int unwinder_set_nothing(struct unwinder *unwinder, uint32_t file_id);

/*
 * The table of a file that waits for it cannot be had now: it is tried again some windows later,
 * see unwinder_next_reload(). One that waits no more stays as it is. Returns 0 or -ENOENT.
 */
int unwinder_set_later(struct unwinder *unwinder, uint32_t file_id);

/*
 * Of the files in use whose table is out, the next one that has room now, or that was set later and
 * whose time has come: it waits for unwinder_set_table(), unwinder_set_nothing() or
 * unwinder_set_later() again. Each comes at most once a window. For one that has no room as yet,
 * tables that are not in use are made to leave, so that it may have it in the next window. Returns
 * false when there are no more, or as many were looked at as a window bears; the next goes on
 * there.
 */
bool unwinder_next_reload(struct unwinder *unwinder, uint32_t *ret_file_id);

/* Borrowed until the next unwinder_want(); NULL: not known. Also of files that are gone. */
const struct walk_file *unwinder_file(struct unwinder *unwinder, uint32_t file_id);

/* The caller's number for it, WALK_FILES_UNKNOWN_BINARY where the id is not known. */
uint32_t unwinder_binary(struct unwinder *unwinder, uint32_t file_id);

enum { UNWINDER_UNPLACED_MAX = 64 };

struct unwinder_report {
	/* Files, now. */
	size_t files, wanted, loaded, evicted, nothing, by_frame_pointer, later, aside;
	size_t tables; /* in the arrays: as many as are loaded, or fewer where they are shared */
	/* Events, since the beginning. */
	uint64_t evictions;
	uint64_t tables_refused; /* for want of room, each time */
	uint64_t files_refused;
	uint64_t files_forgotten;
	uint64_t damaged;
	uint64_t map_errors;
	uint64_t used_bytes, pending_bytes, limit_bytes; /* of the arrays */
	uint64_t memory_bytes;				 /* of ours besides */
	/* The first binaries whose tables did not fit, each once. */
	uint32_t unplaced[UNWINDER_UNPLACED_MAX];
	size_t unplaced_count;
};
void unwinder_report(struct unwinder *unwinder, struct unwinder_report *ret_report);
