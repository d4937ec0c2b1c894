/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The files that the sampler's walk has met, by key and by the id that frames carry. Bounded (I4):
 * if it is full, a file that no stack went through for two whole windows makes room. For two more
 * whole windows its id still finds it and is not reused, so frames on their way are never mistaken
 * for another file's.
 *
 * One owner, one thread. Returned files are borrowed until the next walk_files_add().
 */
#pragma once

#include "base/cleanup.h"
#include "base/user_share.h"
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
	WALK_FILE_PENDING,	    /* its table is being made or fetched */
	WALK_FILE_LOADED,	    /* its table is in the arrays */
	WALK_FILE_EVICTED,	    /* it has a table, but there is no room for it */
	WALK_FILE_NOTHING,	    /* it has no usable table */
	WALK_FILE_BY_FRAME_POINTER, /* it has no table and needs none */
	WALK_FILE_RETRY,	    /* its table could not be made; retried later */
	WALK_FILE_UNIDENTIFIED,	    /* it could not be opened and identified; retried later */
	WALK_FILE_GONE,		    /* it has made room for another: only its id is known */
};

struct walk_file {
	struct pilotlight_file_key key;
	struct pilotlight_walk_file entry; /* the sampler's; `used_window` may be newer here */
	uint32_t binary;		   /* the owner's number, or WALK_FILES_UNKNOWN_BINARY */
	uint64_t user;			   /* who answers for it */
	enum walk_file_state state;
	bool keeps_frame_pointers;	 /* with or without a table */
	bool tells_rbx;			 /* its table does */
	struct table_extent extent;	 /* of its table, loaded or not */
	uint32_t table;			 /* LOADED: its number in shared_tables */
	bool has_runtime;		 /* it has a description ... */
	uint32_t runtime;		 /* ... of this number; */
	uint32_t runtime_flag;		 /* PILOTLIGHT_FILE_HAS_…: what it is of */
	bool lacks_runtime;		 /* or there was no number for it */
	bool has_entry;			 /* the sampler has `entry` */
	uint32_t retry_window;		 /* RETRY, UNIDENTIFIED: when the retry is due */
	uint8_t failures;		 /* in a row */
	struct symbol_identity identity; /* of its contents; size 0: not known yet */
};

struct walk_files;

/* `limit` is a number of files, up to WALK_FILES_LIMIT_MAX. Ids count up from `first_id`, modulo
 * their range in frames. Returns 0 or -ENOMEM. */
int walk_files_new(size_t limit, uint32_t first_id, struct walk_files **ret_files);
void walk_files_free(struct walk_files *files);
DEFINE_CLEANUP(struct walk_files, walk_files_free);

/* Windows ascend. Before the first call it is window 0. */
void walk_files_begin_window(struct walk_files *files, uint32_t window);
uint32_t walk_files_window(const struct walk_files *files);

/* Was it used in this window or the two before? (This one has usually just begun.) */
bool walk_files_is_recent(const struct walk_files *files, const struct walk_file *file);

/* Notes a use. A window older than the last use changes nothing. */
void walk_files_use(struct walk_file *file, uint32_t window);

/* NULL: not known. Ids also find files that are gone. */
struct walk_file *walk_files_find_key(
	struct walk_files *files, const struct pilotlight_file_key *key);
struct walk_file *walk_files_find_id(struct walk_files *files, uint32_t id);

/*
 * Adds an unknown file as PENDING, used in this window. Returns 0; -ENOSPC if it is full, or if too
 * many ids of files that are gone are still reserved; or -ENOMEM.
 */
int walk_files_add(struct walk_files *files, const struct pilotlight_file_key *key, uint32_t binary,
	struct walk_file **ret_file);

/* The file makes room for another. The sampler must have no entry of it. */
void walk_files_forget(struct walk_files *files, struct walk_file *file);

/* Must one be forgotten before another can be added? */
bool walk_files_is_full(const struct walk_files *files);

/* Files that are not gone. Each position below walk_files_positions() has a file or NULL. */
size_t walk_files_count(const struct walk_files *files);
size_t walk_files_positions(const struct walk_files *files);
struct walk_file *walk_files_at(struct walk_files *files, size_t position);
/* Also a file that is gone and whose id is not free yet. */
struct walk_file *walk_files_at_or_gone(struct walk_files *files, size_t position);

/*
 * Ranks the files that are not recent, least recently used first. Call walk_files_use() for the
 * sampler's notes before. The ranking is valid for this window.
 */
void walk_files_rank(struct walk_files *files);
bool walk_files_is_ranked(const struct walk_files *files);

/* The next ranked file, of the LOADED ones or of the others; each at most once per window. NULL: no
 * more, or not ranked. */
struct walk_file *walk_files_next_stale(struct walk_files *files, bool is_loaded);

struct walk_files_counters {
	uint64_t refused;   /* because there was no room */
	uint64_t forgotten; /* to make room */
};
struct walk_files_counters walk_files_counters(const struct walk_files *files);
