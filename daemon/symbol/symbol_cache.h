/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The folder of symbol files: `<directory>/<xx>/<rest>.sym` for a build-id, `<rest>.htlhash.sym`
 * for a hash, `<rest>.owned.sym` for files whose owner is not trusted, and what is being written in
 * `<directory>/tmp/`. Names are without the zero bytes that an identity ends with, as the kernel
 * does not tell them from padding: each identity has one name, and is found by its padded form too.
 *
 * Several processes may use one folder at once, and any may be killed at any moment: a file appears
 * whole, by renaming, or not at all. `<directory>/lock` is held, for moments, by whoever replaces
 * or removes one. There is no index: the folder is the truth, and a file's time of modification is
 * when it was last used (to the minute). Names and kinds of files that are not ours are left alone,
 * and symbolic links below the folder are not followed.
 *
 * Bounded in bytes (I4), a file counting for whole blocks of 4 KiB, what is in `tmp/` apart: beyond
 * that the least recently used go, those of the last minute when nothing older is left. Processes
 * that add to one folder at once see each other's files late, and may exceed the bound by a
 * sixteenth each. A damaged file is removed when it is met, counted, and made anew; it is never
 * believed. In a folder that cannot be written to what is there is used, and nothing else fails.
 * One owner, one thread for each struct.
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
	/* How long nothing is believed to be there, since the header's `created_s`. */
	SYMBOL_CACHE_NEGATIVE_S = 24 * 60 * 60,
	/* How long others are waited for, unless symbol_cache_set_patience() was called. */
	SYMBOL_CACHE_PATIENCE_MS = 1000,
};
#define SYMBOL_CACHE_BYTES_DEFAULT (2ULL << 30)

struct symbol_cache_counters {
	uint64_t found, missed;
	uint64_t damaged;		 /* removed, or passed over where that is not allowed */
	uint64_t stored, refused;	 /* refused: a higher rank was there already */
	uint64_t evicted, evicted_bytes; /* over the bound; bytes are whole blocks */
};

/*
 * Opens the folder, and makes it (mode 0700, with its parents) if it can. What is made in it is for
 * its owner alone too, as symbols tell of private binaries and of what was run; the mode of a
 * folder that is there already is left as it is. The path may be relative and of any length.
 * Returns 0; -errno, with what to do in `fault` (may be NULL), where there is no folder and none
 * can be made.
 */
int symbol_cache_open(const char *directory, uint64_t bytes_max, struct symbol_cache **ret_cache,
	struct fault *fault);
void symbol_cache_free(struct symbol_cache *cache);
DEFINE_CLEANUP(struct symbol_cache, symbol_cache_free);

/* $PILOTLIGHT_SYMBOL_CACHE, else for root /var/cache/pilotlight/symbols unless that is a service's
 * with another user, else $XDG_CACHE_HOME/pilotlight/symbols or ~/.cache/pilotlight/symbols.
 * -ENOENT: no home either. */
int symbol_cache_default_directory(char **ret_directory);

const char *symbol_cache_directory(const struct symbol_cache *cache);

/*
 * For how many milliseconds whoever stores or removes sleeps, at most, while another process holds
 * the folder's lock. 0: it is tried once, and -EBUSY returned at once, for threads that may not
 * wait.
 */
void symbol_cache_set_patience(struct symbol_cache *cache, unsigned int ms);

/*
 * Opens the entry. A negative one that has not expired comes back as a file of rank NONE. Returns
 * 0; -ENOENT none (or expired, damaged, or of another version); -ENOMEM; another -errno from the
 * system.
 */
int symbol_cache_find(struct symbol_cache *cache, const struct symbol_identity *identity,
	struct symbol_file **ret_file);

/*
 * Is there an entry, and of what rank? As symbol_cache_find() in all, errors, counters and time of
 * use, but that only the header is read, which is to decide whether there is something to extract:
 * what is damaged behind the header is there for this one, until it is met by a find.
 */
int symbol_cache_peek(struct symbol_cache *cache, const struct symbol_identity *identity,
	struct pilotlight_symbol_header *ret_header);

/*
 * A file to write a symbol file or intermediate data to: in `tmp/`, locked (flock) as long as it is
 * open here or in a process that it was handed to, so that nobody takes it for a dead one's. The
 * first call also removes what dead processes have left. Returns 0; -EROFS, -EACCES and so on where
 * the folder cannot be written to.
 */
struct symbol_cache_draft {
	int fd;	    /* owned; -1: none */
	char *path; /* owned; NULL once it is committed */
};
int symbol_cache_begin(struct symbol_cache *cache, struct symbol_cache_draft *ret_draft);

/* Removes it, unless it was committed, and closes. */
void symbol_cache_draft_done(struct symbol_cache *cache, struct symbol_cache_draft *draft);

/*
 * Checks the draft's contents, makes sure they are on the disk (which may take as long as the disk
 * does, unless its writer has synced it), and renames it to its place. Nobody may write to it any
 * more. Then older entries go if the folder is over its bound. Returns 0; -EBADMSG it is no whole
 * symbol file of this identity; -EEXIST an entry of a higher rank is there (of equal rank the new
 * one wins, but a negative entry never replaces another kind); -EFBIG it is more than the folder's
 * bound alone; -EBUSY somebody holds the lock, for longer than the patience is; -ENOSPC and so on.
 */
int symbol_cache_commit(struct symbol_cache *cache, const struct symbol_identity *identity,
	struct symbol_cache_draft *draft);

/*
 * Says that there is nothing to be had, for a day. `rank` is kept as RANK_NONE; `origin` (may be
 * NULL) and `failure` are for people. Same errors; -EINVAL for OK and NO_SPACE, which are not kept.
 */
int symbol_cache_put_negative(struct symbol_cache *cache, const struct symbol_identity *identity,
	enum pilotlight_symbol_failure failure, const char *origin);

/* 0 or -ENOENT, … */
int symbol_cache_remove(struct symbol_cache *cache, const struct symbol_identity *identity);

/*
 * Calls `visit` for each entry until it returns an error, which is returned. With `is_checked` the
 * whole file is, else its header alone; nothing is removed. What `error` says: -EBADMSG damaged, or
 * another's; -EPROTONOSUPPORT another version; or why it cannot be read. Expired negative entries
 * are visited too. Order: by name. Memory does not grow with the folder.
 */
struct symbol_cache_entry {
	struct symbol_identity identity; /* its size is short by zeros where `error` is set */
	const char *path;		 /* borrowed */
	uint64_t bytes;			 /* of the file */
	uint64_t used_s;		 /* since 1970 */
	int error;			 /* 0, or why `header` is all zeros */
	struct pilotlight_symbol_header header;
};
int symbol_cache_each(struct symbol_cache *cache, bool is_checked,
	int (*visit)(void *context, const struct symbol_cache_entry *entry), void *context);

/*
 * Removes expired negative entries, what dead processes left in `tmp/`, damaged files if
 * `is_checked`, and the least recently used until at most `bytes_max` are left. 0 or -errno.
 */
struct symbol_cache_pruned {
	uint64_t entries, bytes; /* that went; bytes are whole blocks */
	uint64_t drafts;
	uint64_t left_entries, left_bytes;
};
int symbol_cache_prune(struct symbol_cache *cache, uint64_t bytes_max, bool is_checked,
	struct symbol_cache_pruned *ret_pruned);

/* How much the folder holds, looked through where that is not known; what others have added since
 * is not in it. Returns 0 or -errno. */
int symbol_cache_size(struct symbol_cache *cache, uint64_t *ret_entries, uint64_t *ret_bytes);

void symbol_cache_counters(
	const struct symbol_cache *cache, struct symbol_cache_counters *ret_counters);
