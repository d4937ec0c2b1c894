/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The mappings of one or more process images: sorted, without overlaps. */
#pragma once

#include "process/process_table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* NULL is the empty set. */
struct mapping_set {
	uint32_t references; /* fork shares the parent's set, since most children exec before they
				map */
	uint32_t count, capacity;
	struct process_mapping mappings[];
};

/* Room for mappings in all sets together (I4). */
struct mapping_budget {
	size_t used, limit;
};

/* Another reference to `set`, which may be NULL. */
struct mapping_set *mapping_set_share(struct mapping_set *set);
void mapping_set_release(struct mapping_set *set, struct mapping_budget *budget);

/* The mapping that holds `address`, or NULL. Borrowed until the set changes. */
const struct process_mapping *mapping_set_find(const struct mapping_set *set, uint64_t address);

/*
 * Puts `mapping` in the place of all that it covers; mappings that reach beyond it are trimmed or
 * split. With `merges`, it becomes one with neighbours of the same file: for memory without a file,
 * where offsets mean nothing. A shared set is copied first.
 * Returns 0, -ENOMEM, -E2BIG beyond `limit` mappings in the set, -ENOSPC beyond the budget.
 */
int mapping_set_put(struct mapping_set **set, const struct process_mapping *mapping, bool merges,
	size_t limit, struct mapping_budget *budget);

/*
 * Takes [start, end) out. Where there is no room for both ends of a split mapping, the upper goes;
 * where there is none at all, the set does.
 */
void mapping_set_cut(struct mapping_set **set, uint64_t start, uint64_t end, size_t limit,
	struct mapping_budget *budget);
