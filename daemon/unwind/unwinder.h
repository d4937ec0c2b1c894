/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decides what the sampler's walk knows of files: which files have an entry, and which tables are
 * in the shared arrays. Both are behind capture/walk_maps.h, so it knows nothing of BPF.
 *
 * The sampler reads all the time. So a table is in the arrays before an entry refers to it, and
 * when it leaves, its place is reused only in a later window, when no program can refer to it any
 * more. Files with the same identity and the same table share one place.
 *
 * Eviction: if the arrays are full, tables that no stack went through in this window and the two
 * before leave, least recently used first. A working set that is larger than the arrays does not
 * thrash: some tables stay out, and are loaded once there is room. Two exceptions. Tables of the
 * user who holds the most leave, even in use, for one of a user who will not hold more (I4). And a
 * table of more than a quarter of an array leaves, even in use, for a smaller one that does not fit
 * otherwise; at most one per window.
 *
 * Retries: if a table could not be made, it is tried again while its file is in use, after 2, 4,
 * ... 64 windows. A file that could not be identified may be requested again after 1, 2, ... 64
 * windows.
 *
 * One owner, one thread. Bounded by the arrays and `files_max` (I4).
 */
#pragma once

#include "base/cleanup.h"
#include "pilotlight/walk.h"
#include "unwind/runtime_slots.h"
#include "unwind/table_store.h"
#include "unwind/walk_files.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct symbol_file;
struct symbol_identity;
struct unwinder;
struct walk_maps;

struct unwinder_settings {
	const struct walk_maps *maps; /* the sampler's entries of files, and the arrays; borrowed */
	size_t files_max;	      /* up to PILOTLIGHT_WALK_FILES_MAX */
	/* Ids of files begin here. Use another value each time if frames may still arrive that
	 * refer to an earlier unwinder's files. */
	uint32_t first_file_id;
	uint16_t machine; /* EM_…: of the code that is walked */
	/* Takes descriptions of interpreters (unwind/runtime_slots.h); NULL: none are taken. */
	runtime_slots_function set_runtime;
	void *set_runtime_context;
};

/* Returns 0 or -ENOMEM. */
int unwinder_new(const struct unwinder_settings *settings, struct unwinder **ret_unwinder);
void unwinder_free(struct unwinder *unwinder);
DEFINE_CLEANUP(struct unwinder, unwinder_free);

/*
 * Call once per window, after the flip and before any other function: programs that ran before the
 * flip have ended. `window` is the number that the sampler notes from now on; numbers ascend.
 */
void unwinder_begin_window(struct unwinder *unwinder, uint32_t window);

/*
 * A stack went through a file that the sampler does not know, and the file is identified. Enters
 * the file without a table. If it is new (or was unidentified), it is PENDING until
 * unwinder_set_table(), unwinder_set_nothing() or unwinder_retry_later(). `binary` is the caller's
 * number for it; WALK_FILES_UNKNOWN_BINARY does not replace an earlier one. Returns 0; -ENOSPC if
 * all files are in use (counted); -ENOMEM; or the error of a map.
 */
int unwinder_request(struct unwinder *unwinder, const struct pilotlight_file_key *key,
	uint32_t binary, uint32_t *ret_file_id, bool *ret_is_new);

/*
 * A stack went through a file that could not be identified. The sampler walks it by frame pointers,
 * records addresses, and does not request it for some windows: twice as many after each failure, or
 * the most at once if `is_hopeless`. Meanwhile and until the next answer no stack is cut there.
 * Does nothing if the file is known by now. Returns 0; -ENOSPC if there is no room, or if a quarter
 * of all files are of this kind (the sampler requests it again); -ENOMEM; or the error of a map.
 */
int unwinder_set_unidentified(
	struct unwinder *unwinder, const struct pilotlight_file_key *key, bool is_hopeless);

/* Notes the identity of a file's contents in its walk_file, by which its table is found again. */
void unwinder_set_identity(
	struct unwinder *unwinder, uint32_t file_id, const struct symbol_identity *identity);

/* Says who answers for the file; USER_UNKNOWN before. Tables that are loaded later are charged. */
void unwinder_set_user(struct unwinder *unwinder, uint32_t file_id, uint64_t user);

/*
 * Loads the table in `file`, which is borrowed for the call. If it replaces a loaded table and
 * fails, the old one stays. Returns
 *   0          loaded, or not needed: there is no table, but functions keep frame pointers
 *   -ENOSPC    no room now: see unwinder_next_reload()
 *   -EFBIG     there can never be room
 *   -ENODATA   no table for this machine
 *   -EBADMSG   damaged (counted)
 *   -ENOENT    the file is not known, or no longer
 *   -ENOMEM, or the error of a map: nothing has changed.
 */
int unwinder_set_table(struct unwinder *unwinder, uint32_t file_id, const struct symbol_file *file);

/* There will be no table for the file. Returns 0, -ENOENT, or the error of a map. */
int unwinder_set_nothing(struct unwinder *unwinder, uint32_t file_id);

/* The table of a PENDING file, or the description of a LOADED one, cannot be had now:
 * unwinder_next_reload() returns it some windows later. Does nothing in another state. Returns 0 or
 * -ENOENT. */
int unwinder_retry_later(struct unwinder *unwinder, uint32_t file_id);

/*
 * Finds the next file in use whose table is out but has room now, or whose retry is due. It is
 * PENDING again. Each file comes at most once per window. For a file without room, this evicts idle
 * tables, so that there may be room in the next window. Returns false if there are no more, or if
 * the window's checks are used up; the next window goes on from there.
 */
bool unwinder_next_reload(struct unwinder *unwinder, uint32_t *ret_file_id);

/* Also finds files that are gone. Borrowed until the next unwinder_request(); NULL: not known. */
const struct walk_file *unwinder_file(struct unwinder *unwinder, uint32_t file_id);

/* The caller's number of the file; WALK_FILES_UNKNOWN_BINARY if the id is not known. */
uint32_t unwinder_binary(struct unwinder *unwinder, uint32_t file_id);

/*
 * The caller wants to reuse numbers of binaries. For each file whose binary `is_doomed`: forgets
 * the file, or calls `spare` if a stack went through it in this window or the two before, or if a
 * frame on its way may still refer to it.
 */
struct unwinder_collection {
	void *context;
	bool (*is_doomed)(const void *context, uint32_t binary);
	void (*spare)(void *context, uint32_t binary);
};
void unwinder_collect(struct unwinder *unwinder, const struct unwinder_collection *collection);

struct unwinder_report {
	/* Files now, by state. */
	size_t files, pending, loaded, evicted, nothing, by_frame_pointer, retry, unidentified;
	size_t tables;	     /* in the arrays; fewer than `loaded` if files share them */
	size_t interpreters; /* files whose frames the sampler can tell by their description */
	/* Events since the start. */
	uint64_t evictions;
	uint64_t tables_refused; /* no room, each time */
	uint64_t files_refused;
	uint64_t runtimes_refused; /* descriptions of interpreters that had no room, each time */
	uint64_t files_forgotten;
	uint64_t damaged;
	uint64_t map_errors;
	uint64_t used_bytes, pending_bytes, limit_bytes; /* of the arrays */
};
void unwinder_report(struct unwinder *unwinder, struct unwinder_report *ret_report);

enum { UNWINDER_WHOLE_PPM = 1000000 };
/* What users hold, in millionths of the array that each table fills most. */
const struct user_share *unwinder_share(const struct unwinder *unwinder);
/* Tables that had no room, each time, or were displaced (USER_UNWIND). */
const struct user_excess *unwinder_excess(const struct unwinder *unwinder);
