/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The symbol cache's state, and single steps on its folder. Each step starts at the folder's
 * descriptor and follows no symbolic link below it.
 *
 * A process that judges an entry and then replaces or removes it holds the folder's lock meanwhile,
 * so that the entry is still the one that was judged. The lock is an flock(): it dies with its
 * holder.
 */
#pragma once

#include "symbol/symbol_cache.h"

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

enum {
	SYMBOL_CACHE_FOLDERS = 256, /* "00" to "ff" */
	SYMBOL_CACHE_BLOCK_BYTES = 4096,
	SYMBOL_CACHE_FOLDER_MODE = 0700,
	SYMBOL_CACHE_FILE_MODE = 0600,
	SYMBOL_CACHE_FILE_BYTES = 2 * (BUILD_ID_BYTES - 1) + sizeof(".htlhash.sym"),
	/* The first is of trusted files; users share the others by their user id. */
	SYMBOL_CACHE_SHARES = 256,
};

struct symbol_cache {
	char *directory; /* as given */
	int fd;		 /* O_PATH */
	uint64_t bytes_max;
	unsigned int patience_ms;
	bool has_cleared_drafts;
	struct symbol_cache_counters counters;

	bool is_size_known;
	uint64_t entries, bytes;
	uint64_t shares[SYMBOL_CACHE_SHARES]; /* of `bytes` */
	uint64_t added_bytes;		      /* stored by this process since the last scan */

	/* The least recently used, of the largest shares, as of the last scan, while the next
	 * stores evict them; else NULL. */
	struct symbol_cache_item *oldest;
	size_t oldest_count, oldest_next;
};

/* An entry as a scan found it. */
struct symbol_cache_item {
	struct symbol_identity identity;
	uint64_t bytes;
	uint64_t inode;
	struct timespec modified;
};

struct symbol_cache_name {
	char folder[3];
	char file[SYMBOL_CACHE_FILE_BYTES];
};
struct symbol_cache_name symbol_cache_name_of(const struct symbol_identity *identity);

/* Opens `path` with O_PATH and makes its missing parts. */
int symbol_cache_folder_make(const char *path, int *ret_fd);

/* Opens a folder directly below the cache's. */
int symbol_cache_folder_open(
	const struct symbol_cache *cache, const char *name, int flags, int *ret_fd);

/* Returns 0, -EBUSY after the patience, or another -errno. */
int symbol_cache_folder_lock(const struct symbol_cache *cache, int *ret_fd);

/* Is `name` the file that is open as `fd`? */
bool symbol_cache_folder_has(int folder_fd, const char *name, int fd);

/* Opens an entry for reading. -ENOENT: missing, or not a regular file. */
int symbol_cache_item_open(const struct symbol_cache *cache, const struct symbol_identity *identity,
	int *ret_fd, struct symbol_cache_item *ret_item);

/* Removes an entry, also from the size. -ESTALE: it was replaced or used since the scan. -ENOENT:
 * it is gone. */
int symbol_cache_item_remove(struct symbol_cache *cache, const struct symbol_cache_item *item);

/* Calls `visit` for each entry of one folder, unordered, until it returns an error. */
typedef int (*symbol_cache_visit)(void *context, const struct symbol_cache_item *item);
int symbol_cache_folder_each(const struct symbol_cache *cache, unsigned int folder,
	symbol_cache_visit visit, void *context);

/* All folders. An error in one folder leaves the others to be visited; the first is returned.
 * -ENOMEM and -EBUSY end it. */
int symbol_cache_item_each(
	const struct symbol_cache *cache, symbol_cache_visit visit, void *context);

/*
 * Checks the file or, without `is_whole`, its header. -EBADMSG also if it is of another identity.
 * `ret_file` may be NULL.
 */
int symbol_cache_read(int fd, const struct symbol_identity *identity, bool is_whole,
	struct pilotlight_symbol_header *ret_header, struct symbol_file **ret_file);

/* A negative entry past its lifetime, or created in the future. */
bool symbol_cache_is_expired(const struct pilotlight_symbol_header *header);

/* Renames a draft to its place. -ESTALE: its name in `tmp/` is another file's. */
int symbol_cache_draft_publish(const struct symbol_cache *cache, struct symbol_cache_draft *draft,
	int folder_fd, const char *name);

/* Removes the drafts of dead processes. */
int symbol_cache_clear_drafts(const struct symbol_cache *cache, uint64_t *ret_count);

/* What a file counts for: whole blocks. */
uint64_t symbol_cache_block_bytes(uint64_t file_bytes);

/* The number of the share that an entry counts for. */
size_t symbol_cache_share_of(const struct symbol_identity *identity);

/* Counts a file of this identity, and one that was removed. */
void symbol_cache_add_size(
	struct symbol_cache *cache, const struct symbol_identity *identity, uint64_t file_bytes);
void symbol_cache_subtract_size(
	struct symbol_cache *cache, const struct symbol_identity *identity, uint64_t file_bytes);

/* Before a store: -EBUSY if evictions lag behind earlier stores by a sixteenth of the bound. */
int symbol_cache_make_room(struct symbol_cache *cache);

/* After a store: evicts if the cache is over its bound, or still evicts because it was. `kept`
 * (may be NULL) stays. */
void symbol_cache_evict(struct symbol_cache *cache, const struct symbol_identity *kept);
