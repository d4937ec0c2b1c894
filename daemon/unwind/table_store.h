/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Allocates room for unwind tables in the flat arrays that the sampler searches: one range in each
 * array, by first fit; neighbouring free ranges are merged.
 *
 * The sampler reads while this writes. So the ranges of a dropped table stay untouched until
 * table_store_reclaim(): then no program runs that may have found the table before the drop. One
 * owner, one thread.
 */
#pragma once

#include "base/cleanup.h"
#include "pilotlight/unwind.h"
#include "pilotlight/walk.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct table_store;
struct unwind_table;
struct walk_maps;

enum table_array { TABLE_PAGES, TABLE_LINES, TABLE_RULES, TABLE_ESCAPES, TABLE_ARRAYS };

/* The size of a table in each array, in entries. */
struct table_extent {
	uint32_t entries[TABLE_ARRAYS];
};

/*
 * The arrays of `maps` are borrowed. `tables_max` includes tables that are dropped and not yet
 * reclaimed. Returns 0 or -ENOMEM.
 */
int table_store_new(
	const struct walk_maps *maps, size_t tables_max, struct table_store **ret_store);
void table_store_free(struct table_store *store);
DEFINE_CLEANUP(struct table_store, table_store_free);

struct table_extent table_store_extent(const struct unwind_table *table);

/*
 * Copies a checked table into the arrays, and sets the fields of `placement` that say where it is.
 * Enter it for the sampler afterwards. Returns 0; -EFBIG if there can never be room; -ENOSPC if
 * there is none now; -ENOMEM. On failure nothing has changed.
 */
int table_store_put(struct table_store *store, const struct unwind_table *table,
	struct pilotlight_walk_file *placement);

/* Is the stored table the same as `table`? Takes time in proportion to its size. */
bool table_store_holds(const struct table_store *store, const struct unwind_table *table,
	const struct pilotlight_walk_file *placement);

/* Drops a stored table, to which no entry of the sampler refers any more. Cannot fail. */
void table_store_drop(struct table_store *store, const struct pilotlight_walk_file *placement);

/* Frees dropped tables. No program may be running that began before the last drop. */
void table_store_reclaim(struct table_store *store);

/* Is there room now? */
bool table_store_has_room(const struct table_store *store, const struct table_extent *extent);

/* Will there be room after the next reclaim? */
bool table_store_will_fit(const struct table_store *store, const struct table_extent *extent);

/* Could there be if `more` entries were dropped as well? Counts only, not whether they are in a
 * row. */
bool table_store_may_fit(const struct table_store *store, const struct table_extent *extent,
	const uint64_t more[TABLE_ARRAYS]);

/* Does it take more than a quarter of one of the arrays? */
bool table_store_is_large(const struct table_store *store, const struct table_extent *extent);

struct table_store_usage {
	size_t tables;					 /* without dropped ones */
	uint64_t used_bytes, pending_bytes, limit_bytes; /* pending: dropped, not reclaimed */
};
struct table_store_usage table_store_usage(const struct table_store *store);
