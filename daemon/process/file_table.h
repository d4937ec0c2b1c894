/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The files of a process_table: interned, found again by build-id, never removed, bounded (I4). */
#pragma once

#include "base/hash_index.h"
#include "process/process_table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct file_table {
	struct file_entry *entries; /* by id */
	size_t count, capacity, limit;
	char *paths;
	size_t paths_size, paths_capacity, paths_limit;
	struct hash_index by_identity;
	struct hash_index by_build_id;
};

/* Allocates nothing. */
void file_table_init(struct file_table *table, size_t limit, size_t path_bytes);
void file_table_done(struct file_table *table);

/* Returns 0, -ENOMEM, or -E2BIG where a bound refuses it or the path is longer than PATH_MAX. */
int file_table_intern(
	struct file_table *table, const struct process_mapping_event *event, uint32_t *ret_file);

void file_table_get(const struct file_table *table, uint32_t file, struct mapped_file *ret_file);
void file_table_set_build_id(struct file_table *table, uint32_t file, const struct build_id *id);
bool file_table_find_build_id(
	const struct file_table *table, const struct build_id *id, uint32_t *ret_file);

/* Memory without a file behind it, where an offset means nothing. */
bool file_table_is_anonymous(const struct file_table *table, uint32_t file);

size_t file_table_bytes(const struct file_table *table);
