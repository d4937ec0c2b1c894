/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The files of a process_table: interned, found again by build-id, bounded (I4). Each mapping that
 * shows a file is a reference to it. A file without one is kept as long as there is room, since
 * the next process will probably map it, and gives its place to a new one, the longest unused
 * first.
 */
#pragma once

#include "process/process_table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum file_index { FILE_BY_KEY, FILE_BY_BUILD_ID, FILE_INDEXES };

struct file_table {
	struct file_entry *entries; /* by id */
	size_t count, capacity, limit;
	uint32_t free_file; /* the first of the ids below `count` that are no file's */
	uint32_t oldest_unused, newest_unused;
	size_t path_bytes, path_bytes_limit; /* with the NULs */
	uint32_t *buckets[FILE_INDEXES];     /* first file of each chain */
	size_t bucket_count;		     /* a power of two */
	uint64_t last_identity;
};

/* Returns 0 or -ENOMEM; file_table_done() is for both. */
int file_table_init(struct file_table *table, size_t limit, size_t path_bytes);
void file_table_done(struct file_table *table);

/*
 * Finds the file or makes it one, with a reference that the caller drops. Returns 0, -ENOMEM, or
 * -E2BIG where a bound refuses it or the path is longer than PATH_MAX.
 */
int file_table_intern(
	struct file_table *table, const struct process_mapping_event *event, uint32_t *ret_file);

/* Another reference, or one fewer. */
void file_table_take(struct file_table *table, uint32_t file);
void file_table_drop(struct file_table *table, uint32_t file);

void file_table_get(const struct file_table *table, uint32_t file, struct mapped_file *ret_file);
void file_table_set_build_id(struct file_table *table, uint32_t file, const struct build_id *id);
bool file_table_find_build_id(
	const struct file_table *table, const struct build_id *id, uint32_t *ret_file);

/* Memory without a file behind it, where an offset means nothing. */
bool file_table_is_anonymous(const struct file_table *table, uint32_t file);

/* What the file takes of the table's `path_bytes`. */
size_t file_table_path_bytes(const struct file_table *table, uint32_t file);

size_t file_table_bytes(const struct file_table *table);
