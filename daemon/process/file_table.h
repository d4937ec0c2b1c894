/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The files of a process_table: interned and bounded (I4). Each mapping holds
 * a reference to its file. An unreferenced file stays while there is room, since the next process
 * will probably map it. A new file evicts the one that has been unused for longest.
 */
#pragma once

#include "base/user_share.h"
#include "process/process_table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct file_table {
	struct file_entry *entries; /* indexed by id */
	size_t count, capacity, limit;
	uint32_t free_file; /* first unused id below `count` */
	uint32_t oldest_unused, newest_unused;
	size_t path_bytes, path_bytes_limit; /* NULs included */
	uint32_t *buckets;		     /* first file of each chain */
	size_t bucket_count;		     /* a power of two */
	uint64_t last_identity;
	/* Files in use, and the bytes of their paths, by the user who used each first; `user` does
	 * so from now on. */
	struct user_share share, path_share;
	uint64_t user;
	/* Which of them had no room when the last file was refused; NULL: its path is too long. */
	const struct user_share *lacking;
};

/* Returns 0 or -ENOMEM; call file_table_done() in both cases. */
int file_table_init(struct file_table *table, size_t limit, size_t path_bytes);
void file_table_done(struct file_table *table);

/*
 * Finds or adds the file, with a reference that the caller drops. Returns 0, -ENOMEM, or -E2BIG if
 * a bound refuses it (see `lacking`) or its path is longer than PATH_MAX.
 */
int file_table_intern(
	struct file_table *table, const struct process_mapping_event *event, uint32_t *ret_file);

/* Adds a reference, or drops one. */
void file_table_take(struct file_table *table, uint32_t file);
void file_table_drop(struct file_table *table, uint32_t file);

/* Charges a file that is charged to `from` to `user`. */
void file_table_charge(struct file_table *table, uint32_t file, uint64_t from, uint64_t user);

void file_table_get(const struct file_table *table, uint32_t file, struct mapped_file *ret_file);
void file_table_set_build_id(struct file_table *table, uint32_t file, const struct build_id *id);
/* Finds any file with that build-id. Walks through all: it is asked for once or twice a binary. */
bool file_table_find_build_id(
	const struct file_table *table, const struct build_id *id, uint32_t *ret_file);

/* Says whether this stands for anonymous memory, for which offsets mean nothing. */
bool file_table_is_anonymous(const struct file_table *table, uint32_t file);

/* Returns the file's share of the table's `path_bytes`. */
size_t file_table_path_bytes(const struct file_table *table, uint32_t file);

size_t file_table_bytes(const struct file_table *table);
