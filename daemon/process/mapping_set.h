/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The mappings of one or more process images, sorted and without overlaps. Each holds a reference
 * to its file.
 */
#pragma once

#include "process/file_table.h"
#include "process/process_table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* NULL is the empty set. */
struct mapping_set {
	uint32_t references; /* fork() shares the parent's set, since most children call execve()
				before they map */
	uint32_t count, capacity;
	size_t path_bytes; /* of all mappings' files; a file counts once for each mapping */
	uint64_t user;	   /* to whom its capacity is charged */
	struct process_mapping mappings[];
};

/* The bounds on mappings, in all sets and in each (I4), and the files that they refer to. */
struct mapping_budget {
	size_t used, limit;
	size_t count_per_set, path_bytes_per_set;
	struct file_table *files; /* borrowed */
	struct user_share share;  /* `used`, by user; new sets are charged to files->user */
};

/* Adds a reference to `set`, which may be NULL. */
struct mapping_set *mapping_set_share(struct mapping_set *set);
void mapping_set_release(struct mapping_set *set, struct mapping_budget *budget);

/* Charges the set to `user`, and of its files those that are charged to `from`. NULL: nothing. */
void mapping_set_charge(
	struct mapping_set *set, uint64_t from, uint64_t user, struct mapping_budget *budget);

/* Finds the mapping that holds `address`, or NULL. Borrowed until the set changes. */
const struct process_mapping *mapping_set_find(const struct mapping_set *set, uint64_t address);

/*
 * Inserts `mapping` in place of everything that it covers; mappings that reach beyond it are
 * trimmed or split. Anonymous mappings merge with adjacent ones of the same file, because their
 * offsets mean nothing. A shared set is copied first. Sets `*is_changed` to true if the set
 * changes. Returns 0, -ENOMEM, -E2BIG beyond the bounds of a set, or -ENOSPC beyond the budget.
 */
int mapping_set_put(struct mapping_set **set, const struct process_mapping *mapping,
	struct mapping_budget *budget, bool *is_changed);

/*
 * Removes [start, end). If a split mapping has no room for both ends, the upper end is lost. If
 * there is no room at all, the whole set is. Sets `*is_changed` to true if the set changes.
 */
void mapping_set_cut(struct mapping_set **set, uint64_t start, uint64_t end,
	struct mapping_budget *budget, bool *is_changed);
