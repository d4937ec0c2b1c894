/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the parts of the symbol cache share: its state, and single steps on its folder. Everything
 * is reached from the folder's descriptor, and below it no symbolic link is followed.
 *
 * Whoever replaces or removes an entry after having judged it holds the folder's lock meanwhile, so
 * that the entry is still the one that was judged. The lock is an flock() and dies with its holder.
 */
#pragma once

#include "symbol/symbol_cache.h"
#include "symbol/symbol_cache_name.h"
#include "symbol/symbol_cache_selection.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

enum {
	SYMBOL_CACHE_FOLDER_MODE = 0700,
	SYMBOL_CACHE_FILE_MODE = 0600,
	SYMBOL_CACHE_USE_S = 60, /* how exactly the time of last use is kept */
};

/* What the folder is believed to hold, and what is to go first. */
struct symbol_cache_usage {
	bool is_known;
	uint64_t entries, bytes;
	uint64_t added_bytes; /* by us, since the folder was looked through */
	struct symbol_cache_selection oldest;
	size_t next; /* of `oldest`: those before have gone or were used since */
};

struct symbol_cache {
	char *directory; /* as it was given */
	int fd;		 /* O_PATH */
	uint64_t bytes_max;
	unsigned int patience_ms;
	bool has_cleared_drafts;
	struct symbol_cache_counters counters;
	struct symbol_cache_usage usage;
};

/* Opens `path` with O_PATH; what is missing of it is made, mode 0700. -errno. */
int symbol_cache_folder_make(const char *path, int *ret_fd);

/* `flags` as of open(), those that keep it safe are added. */
int symbol_cache_folder_open(
	const struct symbol_cache *cache, const char *name, int flags, int *ret_fd);

/* -EBUSY: somebody has held it for as long as the patience is; for a second only a stopped process
 * does. */
int symbol_cache_folder_lock(const struct symbol_cache *cache, int *ret_fd);

/* Is `name` the file that is open as `fd`? */
bool symbol_cache_folder_has(int folder_fd, const char *name, int fd);

/* Opens an entry for reading. -ENOENT: none, or not a regular file. */
int symbol_cache_folder_open_entry(const struct symbol_cache *cache,
	const struct symbol_identity *identity, int *ret_fd, struct symbol_cache_found *ret_found);

/* Removes an entry unless it has been replaced or used since it was found (-ESTALE). -ENOENT: it
 * has gone. */
int symbol_cache_folder_remove(
	const struct symbol_cache *cache, const struct symbol_cache_found *found);

struct symbol_cache_found symbol_cache_found_set(
	const struct symbol_identity *identity, const struct stat *status);

uint64_t symbol_cache_now_s(void);

/*
 * Calls `visit` for each entry of one folder (0 to SYMBOL_CACHE_FOLDERS - 1), in no order, until it
 * returns an error, which is returned. Names and files that are not ours are passed over, as is a
 * folder that is not there.
 */
typedef int (*symbol_cache_visit)(void *context, const struct symbol_cache_found *found);
int symbol_cache_folder_each(const struct symbol_cache *cache, unsigned int folder,
	symbol_cache_visit visit, void *context);

/*
 * The same for the whole cache. What goes wrong with one folder leaves the others to be visited;
 * the first error is returned, -ENOMEM and -EBUSY at once.
 */
int symbol_cache_each_found(
	const struct symbol_cache *cache, symbol_cache_visit visit, void *context);

/* Opens a symbol file as symbol_file_open() does; -EBADMSG also where it is another's. */
int symbol_cache_load(
	int fd, const struct symbol_identity *identity, struct symbol_file **ret_file);

/* Renames a draft to its place, after which it has no path and is no draft. -ESTALE: somebody has
 * taken its name from it. */
int symbol_cache_draft_publish(struct symbol_cache *cache, struct symbol_cache_draft *draft,
	int folder_fd, const char *name);

/* Removes what dead processes left in `tmp/`, and counts it. 0 where there is no such folder. */
int symbol_cache_clear_drafts(const struct symbol_cache *cache, uint64_t *ret_count);

/*
 * Removes entries until at most `bytes_max` are left, the least recently used first; those that
 * were used within SYMBOL_CACHE_USE_S only where nothing older is there, whoever has put it there.
 * `keep` (may be NULL) stays. What went is added to `pruned` (may be NULL). An entry that cannot be
 * removed is passed over; the first error is returned.
 */
int symbol_cache_evict(struct symbol_cache *cache, uint64_t bytes_max,
	const struct symbol_identity *keep, struct symbol_cache_pruned *pruned);

/* Looks through the folder anew; what is known is right as far as it can be read, unless -ENOMEM is
 * returned. */
int symbol_cache_usage_refresh(struct symbol_cache *cache);

/* An entry of so many bytes has taken the place of one of `old_bytes`, 0: of none. */
void symbol_cache_usage_add(struct symbol_cache *cache, uint64_t bytes, uint64_t old_bytes);

/* What a file counts for: whole blocks of 4 KiB, as it takes them on the disk. */
uint64_t symbol_cache_usage_bytes(uint64_t file_bytes);
