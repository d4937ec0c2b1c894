/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Puts unwind tables into the flat arrays that the sampler searches: a table has one range in each.
 * First fit; what a table leaves free is one with what is free beside it.
 *
 * The sampler reads while this writes. What it may still be using is not touched: a dropped table's
 * ranges stay as they are until table_store_reclaim(), by which the owner says that no program runs
 * any more that can have found the table before it was dropped. One owner, one thread.
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

enum table_array { TABLE_PAGES, TABLE_LINES, TABLE_RULES, TABLE_ESCAPES, TABLE_ARRAYS };

/* Borrowed for as long as the store lives. An array without capacity may be NULL. */
struct table_store_arrays {
	uint32_t *pages;
	struct pilotlight_unwind_line *lines;
	struct pilotlight_unwind_rule *rules;
	struct pilotlight_unwind_escape *escapes;
	uint32_t capacities[TABLE_ARRAYS]; /* entries */
};

/* What a table takes of each array, in entries. */
struct table_extent {
	uint32_t entries[TABLE_ARRAYS];
};

/* At most `tables_max` tables, with those that are dropped and not reclaimed. 0 or -ENOMEM. */
int table_store_new(
	const struct table_store_arrays *arrays, size_t tables_max, struct table_store **ret_store);
void table_store_free(struct table_store *store);
DEFINE_CLEANUP(struct table_store, table_store_free);

struct table_extent table_store_extent(const struct unwind_table *table);

/*
 * Copies a checked table into the arrays and sets in `placement` what tells the sampler of it: all
 * but id, flags and used_window. The sampler is to be told afterwards. Returns 0; -EFBIG there will
 * never be room; -ENOSPC there is none now; -ENOMEM. On failure nothing has changed.
 */
int table_store_put(struct table_store *store, const struct unwind_table *table,
	struct pilotlight_walk_file *placement);

/* Is what was put there the same as `table`? Time is linear in its size. */
bool table_store_holds(const struct table_store *store, const struct unwind_table *table,
	const struct pilotlight_walk_file *placement);

/* The table that was put there; the sampler has been told that it is gone. Cannot fail. */
void table_store_drop(struct table_store *store, const struct pilotlight_walk_file *placement);

/* No program runs that began before the last drop. */
void table_store_reclaim(struct table_store *store);

/* Is there room for it? */
bool table_store_has_room(const struct table_store *store, const struct table_extent *extent);

/* Would there be room for it after the next reclaim? */
bool table_store_will_fit(const struct table_store *store, const struct table_extent *extent);

/* Could there be, if all in `more` were dropped besides, as far as mere numbers tell? */
bool table_store_may_fit(const struct table_store *store, const struct table_extent *extent,
	const uint64_t more[TABLE_ARRAYS]);

/* Does it take more than a quarter of any of the arrays? */
bool table_store_is_large(const struct table_store *store, const struct table_extent *extent);

struct table_store_usage {
	size_t tables;					 /* without those that are dropped */
	uint64_t used_bytes, pending_bytes, limit_bytes; /* used: without pending */
};
struct table_store_usage table_store_usage(const struct table_store *store);

/* What it holds of memory, the arrays not counted. */
size_t table_store_bytes(const struct table_store *store);
