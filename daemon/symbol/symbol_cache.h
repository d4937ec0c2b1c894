/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A folder of symbol files by build-id, with eviction of the least recently used. A file's path is
 * `<directory>/<xx>/<rest>.sym` for a build-id, `<rest>.htlhash.sym` for a hash, and
 * `<rest>.owned.sym` for a binary whose owner is not trusted. Names leave out the zero bytes at an
 * identity's end, because the kernel pads build-ids with zeros: each identity has one name.
 *
 * Several processes may use one folder, and each may be killed at any moment. A writer fills a
 * draft in `<directory>/tmp/` and renames it, so an entry appears whole or not at all. A process
 * holds `<directory>/lock` for a moment when it replaces or removes an entry. There is no index:
 * the folder is the truth, and a file's modification time is its last use (to the minute). The
 * cache leaves foreign names alone and follows no symbolic link below the folder.
 *
 * The cache is bounded in bytes (I4); a file counts for whole blocks of 4 KiB. When a store exceeds
 * the bound, it evicts down to 15/16 of it, in whole MiB, so that a full cache is not scanned at
 * each store. The largest shares yield first, so that no user's files displace those of others:
 * eviction leaves each user the same number of bytes, and trusted files at least half of the cache.
 * For an owner that cannot wait (symbol_cache_set_patience()), one store evicts a limited number of
 * entries and the next stores evict the rest (I5); while more than a sixteenth of the bound
 * remains, stores are refused. Processes that store at once see each other's files late and may
 * exceed the bound by a sixteenth each. A damaged entry is removed and counted when it is read. In
 * a read-only folder the entries can be used; only stores fail. One owner, one thread for each
 * struct.
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
	SYMBOL_CACHE_NEGATIVE_S = 24 * 60 * 60, /* lifetime of a negative entry */
	SYMBOL_CACHE_PATIENCE_MS = 1000,	/* default wait for the lock */
	SYMBOL_CACHE_DRAFT_BYTES = 48,		/* a draft's name */
	SYMBOL_CACHE_EVICTIONS_MAX = 1024,	/* at a time: about 20 ms */
};
#define SYMBOL_CACHE_BYTES_DEFAULT (2ULL << 30)

struct symbol_cache_counters {
	uint64_t found, missed;
	uint64_t damaged;		 /* also those that a read-only folder keeps */
	uint64_t stored, refused;	 /* refused: an entry of higher rank existed */
	uint64_t evicted, evicted_bytes; /* bytes are whole blocks */
};

/*
 * Opens the folder, and makes it and its parents (mode 0700) if they are missing. New files and
 * folders are their owner's alone, because symbols reveal private binaries; an existing folder
 * keeps its mode. The path may be relative and of any length. Returns 0, or -errno with `fault`
 * (may be NULL).
 */
int symbol_cache_open(const char *directory, uint64_t bytes_max, struct symbol_cache **ret_cache,
	struct fault *fault);
void symbol_cache_free(struct symbol_cache *cache);
DEFINE_CLEANUP(struct symbol_cache, symbol_cache_free);

/*
 * $PILOTLIGHT_SYMBOL_CACHE; else, for root, /var/cache/pilotlight/symbols unless a service with
 * another user owns it; else $XDG_CACHE_HOME/pilotlight/symbols or ~/.cache/pilotlight/symbols.
 * Returns 0, -ENOMEM, or -ENOENT without a home.
 */
int symbol_cache_default_directory(char **ret_directory);

const char *symbol_cache_directory(const struct symbol_cache *cache);

/*
 * The longest wait for the lock. With 0, a store or removal returns -EBUSY at once, and a store
 * evicts at most SYMBOL_CACHE_EVICTIONS_MAX entries.
 */
void symbol_cache_set_patience(struct symbol_cache *cache, unsigned int ms);

/*
 * Opens an entry and marks it as used. A valid negative entry is a file of rank NONE. Returns 0;
 * -ENOENT if it is missing, expired, damaged or of another version; -ENOMEM; another -errno.
 */
int symbol_cache_find(struct symbol_cache *cache, const struct symbol_identity *identity,
	struct symbol_file **ret_file);

/* Same errors, counters and use, but reads and checks only the header. */
int symbol_cache_peek(struct symbol_cache *cache, const struct symbol_identity *identity,
	struct pilotlight_symbol_header *ret_header);

/*
 * A file in `tmp/` for a symbol file. It stays locked (flock) while this or
 * any other process has `fd` open, so that others can tell it from a dead process's draft. The
 * first call also removes drafts of dead processes. Returns 0; -EROFS, -EACCES and so on.
 */
struct symbol_cache_draft {
	int fd;				     /* owned; -1: none */
	char name[SYMBOL_CACHE_DRAFT_BYTES]; /* in `tmp/`; empty once committed */
};
int symbol_cache_begin(struct symbol_cache *cache, struct symbol_cache_draft *ret_draft);

/*
 * The same, but if `cache` is NULL or cannot be written, the draft is a file without a name in
 * /var/tmp or /tmp: its `name` is empty, and it cannot be committed. A tmpfs is skipped, because a
 * big binary's symbols would fill memory (I4). Returns 0; -EROFS no writable folder.
 */
int symbol_cache_begin_or_unnamed(struct symbol_cache *cache, struct symbol_cache_draft *ret_draft);

/* Opens an empty file without a name in the same place, for intermediate data. Same errors. */
int symbol_cache_open_scratch(struct symbol_cache *cache, int *ret_fd);

/* Removes the draft unless it was committed, and closes it. `cache` may be NULL for one without a
 * name. */
void symbol_cache_draft_done(struct symbol_cache *cache, struct symbol_cache_draft *draft);

/*
 * Checks the draft, syncs it to disk and renames it to its place; nobody may write to it any more.
 * Then evicts if the cache is over its bound. Returns 0; -EBADMSG it is no whole symbol file of
 * this identity; -EEXIST an entry of higher rank exists (an equal rank is replaced; a negative
 * entry never replaces another kind); -EFBIG it exceeds the bound alone; -EBUSY the lock, or
 * evictions lag behind earlier stores; -ENOSPC, ...
 */
int symbol_cache_commit(struct symbol_cache *cache, const struct symbol_identity *identity,
	struct symbol_cache_draft *draft);

/*
 * Records for a day that no symbols can be had. `failure` and `origin` (may be NULL) are for
 * people. Same errors; -EINVAL for OK and NO_SPACE, which are not recorded.
 */
int symbol_cache_put_negative(struct symbol_cache *cache, const struct symbol_identity *identity,
	enum pilotlight_symbol_failure failure, const char *origin);

/* Returns 0, -ENOENT or another -errno. */
int symbol_cache_remove(struct symbol_cache *cache, const struct symbol_identity *identity);

/*
 * Calls `visit` for each entry, in the order of names, until it returns an error, which is
 * returned. Expired entries are included; nothing is removed. With `is_checked` the whole file is
 * checked, else its header alone. Memory does not grow with the folder.
 */
struct symbol_cache_entry {
	struct symbol_identity identity; /* lacks zeros at its end if `error` is set */
	const char *path;		 /* borrowed */
	uint64_t bytes;			 /* of the file */
	uint64_t used_s;		 /* since 1970 */
	/* 0; -EBADMSG damaged or of another identity; -EPROTONOSUPPORT another version; or why it
	 * cannot be read. `header` is then all zeros. */
	int error;
	struct pilotlight_symbol_header header;
};
int symbol_cache_each(struct symbol_cache *cache, bool is_checked,
	int (*visit)(void *context, const struct symbol_cache_entry *entry), void *context);

/*
 * Removes expired negative entries, drafts of dead processes, damaged entries (all with
 * `is_checked`), and the least recently used until at most `bytes_max` are left. 0 or -errno.
 */
struct symbol_cache_pruned {
	uint64_t entries, bytes; /* removed; bytes are whole blocks */
	uint64_t drafts;
	uint64_t left_entries, left_bytes;
};
int symbol_cache_prune(struct symbol_cache *cache, uint64_t bytes_max, bool is_checked,
	struct symbol_cache_pruned *ret_pruned);

/* The folder's size: scanned at first, then kept by what this process stores and evicts. */
int symbol_cache_size(struct symbol_cache *cache, uint64_t *ret_entries, uint64_t *ret_bytes);

void symbol_cache_counters(
	const struct symbol_cache *cache, struct symbol_cache_counters *ret_counters);
