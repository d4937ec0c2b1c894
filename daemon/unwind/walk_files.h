/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The files that the sampler's walk has met: by what the kernel knows them by, and by the id that
 * frames have. Bounded (I4): when it is full, a file that no stack has gone through for two whole
 * windows makes room. Such a file stays known by its id for two more whole windows, and so long no
 * other file has that id, so that frames that are under way are never taken for another's.
 *
 * One owner, one thread. What is returned is borrowed until the next walk_files_add().
 */
#pragma once

#include "base/cleanup.h"
#include "pilotlight/walk.h"
#include "symbol/symbol_identity.h"
#include "unwind/table_store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	WALK_FILES_LIMIT_MAX = PILOTLIGHT_FRAME_FILE_IDS_MAX / 4,
	WALK_FILES_UNKNOWN_BINARY = UINT32_MAX,
};

enum walk_file_state {
	WALK_FILE_WANTED,	    /* its table is being made or fetched */
	WALK_FILE_LOADED,	    /* its table is where the sampler finds it */
	WALK_FILE_EVICTED,	    /* it has a table, and there is no room for it */
	WALK_FILE_NOTHING,	    /* it has none, or none that can be used */
	WALK_FILE_BY_FRAME_POINTER, /* it has none and needs none */
	WALK_FILE_LATER,	    /* it may have one that could not be had; it is tried again */
	WALK_FILE_ASIDE,	    /* which file it is could not be told: it has no table so far */
	WALK_FILE_GONE,		    /* it has made room for another: the id alone is known */
};

struct walk_file {
	struct pilotlight_file_key key;
	struct pilotlight_walk_file told; /* what the sampler knows of it; `used_window` is newer */
	uint32_t binary; /* the owner's number for it, or WALK_FILES_UNKNOWN_BINARY */
	enum walk_file_state state;
	bool keeps_frame_pointers;  /* whether it has a table or not */
	bool tells_rbx;		    /* its table does */
	struct table_extent extent; /* of its table, loaded or not */
	uint32_t table;		    /* LOADED: its number in shared_tables */
	bool is_idle;		    /* LOADED: counted as an idle user of the table */
	bool is_told; /* does the sampler know of it? Of all but some that are ASIDE */
	/* LATER: when it is tried again; ASIDE: when it may be asked for again. */
	uint32_t again_window;
	uint8_t attempts;		 /* that have failed in a row */
	struct symbol_identity identity; /* of its contents; size 0: not known as yet */
};

struct walk_files;

/*
 * `limit`: files, up to WALK_FILES_LIMIT_MAX. `first_id`: ids begin there, in the range that frames
 * have for them. Returns 0 or -ENOMEM.
 */
int walk_files_new(size_t limit, uint32_t first_id, struct walk_files **ret_files);
void walk_files_free(struct walk_files *files);
DEFINE_CLEANUP(struct walk_files, walk_files_free);

/* Windows ascend; what happens before the first call is in window 0. */
void walk_files_begin_window(struct walk_files *files, uint32_t window);
uint32_t walk_files_window(const struct walk_files *files);

/* Was it used in this window or in the two before? The present one has hardly begun, mostly. */
bool walk_files_is_recent(const struct walk_files *files, const struct walk_file *file);

/* Notes a use: of an older window than is known, it changes nothing. */
void walk_files_use(struct walk_file *file, uint32_t window);

/* NULL: not known. By id, also those that are gone. */
struct walk_file *walk_files_find_key(
	struct walk_files *files, const struct pilotlight_file_key *key);
struct walk_file *walk_files_find_id(struct walk_files *files, uint32_t id);

/*
 * Adds a file that is not known, as WANTED, used in this window. Returns 0; -ENOSPC when it is
 * full, or when as many files have gone of late as it can hold; or -ENOMEM.
 */
int walk_files_add(struct walk_files *files, const struct pilotlight_file_key *key, uint32_t binary,
	struct walk_file **ret_file);

/* The file makes room for another; the sampler does not know it any more. */
void walk_files_forget(struct walk_files *files, struct walk_file *file);

/* Must one be forgotten before another can be added? */
bool walk_files_is_full(const struct walk_files *files);

/* Those that are not gone. Every position below walk_files_positions() has a file or NULL. */
size_t walk_files_count(const struct walk_files *files);
size_t walk_files_positions(const struct walk_files *files);
struct walk_file *walk_files_at(struct walk_files *files, size_t position);

/*
 * Who could go: the files that are not recent, least recently used first, as of this call; uses
 * that the sampler has noted are to be told before. Good for this window.
 */
void walk_files_rank(struct walk_files *files);
bool walk_files_is_ranked(const struct walk_files *files);

/*
 * The next of these, each at most once a window: the loaded ones, and the others. NULL: no more, or
 * not ranked.
 */
struct walk_file *walk_files_next_stale(struct walk_files *files, bool is_loaded);

struct walk_files_counters {
	uint64_t refused;   /* there was no room */
	uint64_t forgotten; /* made room */
};
struct walk_files_counters walk_files_counters(const struct walk_files *files);

/* What it holds of memory. */
size_t walk_files_bytes(const struct walk_files *files);
