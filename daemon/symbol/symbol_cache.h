/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The folder of symbol files: `<directory>/<xx>/<rest>.sym` for a build-id, `<rest>.htlhash.sym`
 * for a hash, and what is being written in `<directory>/tmp/`. Several processes may use one
 * folder at once, and any may be killed at any moment: a file appears whole, by renaming, or not at
 * all. It needs no index: the folder is the truth, and a file's time of modification is when it was
 * last used (to the hour).
 *
 * Bounded in bytes (I4): beyond that the least recently used go. A damaged file is removed when it
 * is met, counted, and made anew; it is never believed. In a folder that cannot be written to what
 * is there is used, and nothing else fails. One owner, one thread for each struct.
 */
#pragma once

#include "base/cleanup.h"
#include "base/fault.h"
#include "symbol/symbol_file.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct symbol_cache;

enum {
	SYMBOL_CACHE_NEGATIVE_S = 24 * 60 * 60, /* how long nothing is believed to be there */
};
#define SYMBOL_CACHE_BYTES_DEFAULT (2ULL << 30)

struct symbol_cache_counters {
	uint64_t found, missed;
	uint64_t damaged;	  /* removed, or passed over where that is not allowed */
	uint64_t stored, refused; /* refused: a higher rank was there already */
	uint64_t evicted, evicted_bytes;
};

/*
 * Opens the folder, and makes it (mode 0755, with its parents) if it can. Returns 0; -errno, with
 * what to do in `fault`, where there is no folder and none can be made.
 */
int symbol_cache_open(const char *directory, uint64_t bytes_max, struct symbol_cache **ret_cache,
	struct fault *fault);
void symbol_cache_free(struct symbol_cache *cache);
DEFINE_CLEANUP(struct symbol_cache, symbol_cache_free);

/* $PILOTLIGHT_SYMBOL_CACHE, else for root /var/cache/pilotlight/symbols, else
 * $XDG_CACHE_HOME/pilotlight/symbols or ~/.cache/pilotlight/symbols. -ENOENT: no home either. */
int symbol_cache_default_directory(char **ret_directory);

const char *symbol_cache_directory(const struct symbol_cache *cache);

/*
 * Opens the entry. A negative one that has not expired comes back as a file of rank NONE. Returns
 * 0; -ENOENT none (or expired, or damaged); -ENOMEM; another -errno from the system.
 */
int symbol_cache_find(struct symbol_cache *cache, const struct symbol_identity *identity,
	struct symbol_file **ret_file);

/*
 * A file to write a symbol file or intermediate data to: in `tmp/`, locked (flock) as long as it is
 * open, so that nobody takes it for a dead process's. Returns 0; -EROFS, -EACCES and so on where
 * the folder cannot be written to.
 */
struct symbol_cache_draft {
	int fd;	    /* owned; -1: none */
	char *path; /* owned */
};
int symbol_cache_begin(struct symbol_cache *cache, struct symbol_cache_draft *ret_draft);

/* Removes it, unless it was committed, and closes. */
void symbol_cache_draft_done(struct symbol_cache *cache, struct symbol_cache_draft *draft);

/*
 * Checks the draft's contents, makes sure they are on the disk, and renames it to its place. Then
 * older entries go if the folder is over its bound. Returns 0; -EBADMSG it is no whole symbol file
 * of this identity; -EEXIST an entry of a higher rank is there (of equal rank the new one wins,
 * but a negative entry never replaces another kind); -ENOSPC and so on.
 */
int symbol_cache_commit(struct symbol_cache *cache, const struct symbol_identity *identity,
	struct symbol_cache_draft *draft);

/*
 * Says that there is nothing to be had, for a day. `rank` is kept as RANK_NONE; `origin` and
 * `failure` are for people. Same errors.
 */
int symbol_cache_put_negative(struct symbol_cache *cache, const struct symbol_identity *identity,
	enum pilotlight_symbol_failure failure, const char *origin);

/* 0 or -ENOENT, … */
int symbol_cache_remove(struct symbol_cache *cache, const struct symbol_identity *identity);

/*
 * Calls `visit` for each entry until it returns an error, which is returned. `file` is NULL where
 * the entry is damaged or of another version; `error` says how. Without `is_checked` only the
 * header is read and `file` is NULL where even that fails. Order: by name.
 */
struct symbol_cache_entry {
	struct symbol_identity identity;
	const char *path; /* borrowed */
	uint64_t bytes;
	uint64_t used_s; /* since 1970 */
	int error;	 /* 0, or why `header` is not to be had */
	struct pilotlight_symbol_header header;
};
int symbol_cache_each(struct symbol_cache *cache, bool is_checked,
	int (*visit)(void *context, const struct symbol_cache_entry *entry), void *context);

/*
 * Removes expired negative entries, what dead processes left in `tmp/`, damaged files if
 * `is_checked`, and the least recently used until at most `bytes_max` are left. 0 or -errno.
 */
struct symbol_cache_pruned {
	uint64_t entries, bytes; /* that went */
	uint64_t drafts;
	uint64_t left_entries, left_bytes;
};
int symbol_cache_prune(struct symbol_cache *cache, uint64_t bytes_max, bool is_checked,
	struct symbol_cache_pruned *ret_pruned);

void symbol_cache_counters(
	const struct symbol_cache *cache, struct symbol_cache_counters *ret_counters);
