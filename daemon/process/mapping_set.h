/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The mappings of one or more process images: sorted, without overlaps. Each holds a reference to
 * its file.
 */
#pragma once

#include "process/file_table.h"
#include "process/process_table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* NULL is the empty set. */
struct mapping_set {
	uint32_t references; /* fork shares the parent's set, since most children exec before they
				map */
	uint32_t count, capacity;
	size_t path_bytes; /* of the files of all mappings, each as often as it is mapped */
	struct process_mapping mappings[];
};

/* Room for mappings in all sets together and in each (I4), and the files that they show. */
struct mapping_budget {
	size_t used, limit;
	size_t count_per_set, path_bytes_per_set;
	struct file_table *files; /* borrowed */
};

/* Another reference to `set`, which may be NULL. */
struct mapping_set *mapping_set_share(struct mapping_set *set);
void mapping_set_release(struct mapping_set *set, struct mapping_budget *budget);

/* The mapping that holds `address`, or NULL. Borrowed until the set changes. */
const struct process_mapping *mapping_set_find(const struct mapping_set *set, uint64_t address);

/*
 * Puts `mapping` in the place of all that it covers; mappings that reach beyond it are trimmed or
 * split. If its file is anonymous, where offsets mean nothing, it becomes one with neighbours of
 * the same file. A shared set is copied first. `*is_changed` becomes true if the set does change.
 * Returns 0, -ENOMEM, -E2BIG beyond what a set may have, -ENOSPC beyond the budget.
 */
int mapping_set_put(struct mapping_set **set, const struct process_mapping *mapping,
	struct mapping_budget *budget, bool *is_changed);

/*
 * Takes [start, end) out. Where there is no room for both ends of a split mapping, the upper goes;
 * where there is none at all, the set does. `*is_changed` becomes true if the set does change.
 */
void mapping_set_cut(struct mapping_set **set, uint64_t start, uint64_t end,
	struct mapping_budget *budget, bool *is_changed);
