/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unwind/table_store.h"

#include "base/array.h"
#include "capture/walk_maps.h"
#include "unwind/unwind_table.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* --- free ranges of an array --- */

struct extent {
	uint32_t start, count; /* entries */
};

/* Extents are sorted, not adjacent and not empty. Zeros: an empty set. */
struct extent_set {
	struct extent *extents;
	size_t count, capacity;
	uint64_t entries; /* of all extents */
};

static void extent_set_done(struct extent_set *set)
{
	free(set->extents);
	*set = (struct extent_set){ 0 };
}

/* Reserves memory for `extents` extents. Returns 0, -ENOMEM, or -E2BIG beyond `limit`. */
static int extent_set_reserve(struct extent_set *set, size_t extents, size_t limit)
{
	return ARRAY_RESERVE(set->extents, &set->capacity, extents, limit);
}

static uint64_t end_of(const struct extent *extent)
{
	return (uint64_t)extent->start + extent->count;
}

/* The position of the first extent that begins at or behind `start`. */
static size_t position_of(const struct extent_set *set, uint32_t start)
{
	size_t low = 0, high = set->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (set->extents[middle].start < start)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void remove_at(struct extent_set *set, size_t i)
{
	memmove(&set->extents[i], &set->extents[i + 1],
		(set->count - i - 1) * sizeof(*set->extents));
	set->count--;
}

/* Adds a range that does not overlap the set, and merges it with its neighbours. Memory for another
 * extent must be reserved. */
static void extent_set_add(struct extent_set *set, uint32_t start, uint32_t count)
{
	struct extent added = { .start = start, .count = count };
	struct extent *before, *after;
	size_t i;

	if (count == 0)
		return;
	i = position_of(set, start);
	before = i > 0 ? &set->extents[i - 1] : NULL;
	after = i < set->count ? &set->extents[i] : NULL;
	assert(!before || end_of(before) <= start);
	assert(!after || end_of(&added) <= after->start);
	set->entries += count;
	if (before && end_of(before) == start) {
		before->count += count;
		if (after && end_of(before) == after->start) {
			before->count += after->count;
			remove_at(set, i);
		}
	} else if (after && end_of(&added) == after->start) {
		after->start = start;
		after->count += count;
	} else {
		assert(set->count < set->capacity);
		memmove(&set->extents[i + 1], &set->extents[i],
			(set->count - i) * sizeof(*set->extents));
		set->extents[i] = added;
		set->count++;
	}
}

/* Finds the first extent of at least `count` entries. */
static bool extent_set_find(const struct extent_set *set, uint32_t count, uint32_t *ret_start)
{
	for (size_t i = 0; i < set->count; i++)
		if (set->extents[i].count >= count) {
			*ret_start = set->extents[i].start;
			return true;
		}
	return false;
}

/* Removes `count` entries from the start of the extent that begins at `start`. */
static void extent_set_remove(struct extent_set *set, uint32_t start, uint32_t count)
{
	size_t i = position_of(set, start);
	struct extent *extent = &set->extents[i];

	assert(i < set->count && extent->start == start && extent->count >= count);
	extent->start += count;
	extent->count -= count;
	set->entries -= count;
	if (extent->count == 0)
		remove_at(set, i);
}

/* Would the union of two disjoint sets have `count` entries in a row? */
static bool extent_set_union_has(
	const struct extent_set *a, const struct extent_set *b, uint32_t count)
{
	size_t i = 0, j = 0;
	struct extent run = { 0 };

	while (i < a->count || j < b->count) {
		bool is_a = j == b->count ||
			    (i < a->count && a->extents[i].start < b->extents[j].start);
		const struct extent *next = is_a ? &a->extents[i++] : &b->extents[j++];

		if (run.count > 0 && end_of(&run) == next->start)
			run.count += next->count;
		else
			run = *next;
		if (run.count >= count)
			return true;
	}
	return count == 0;
}

/* Moves all extents of `from`; memory must be reserved. */
static void extent_set_move(struct extent_set *to, struct extent_set *from)
{
	for (size_t i = 0; i < from->count; i++)
		extent_set_add(to, from->extents[i].start, from->extents[i].count);
	from->count = 0;
	from->entries = 0;
}

/* --- tables --- */

enum { LARGE_SHARE = 4 };

static const size_t entry_bytes[TABLE_ARRAYS] = {
	[TABLE_PAGES] = sizeof(uint32_t),
	[TABLE_LINES] = sizeof(struct pilotlight_unwind_line),
	[TABLE_RULES] = sizeof(struct pilotlight_unwind_rule),
	[TABLE_ESCAPES] = sizeof(struct pilotlight_unwind_escape),
};

struct table_store {
	void *arrays[TABLE_ARRAYS]; /* borrowed */
	uint32_t capacities[TABLE_ARRAYS];
	size_t tables_max;
	size_t tables, pending_tables;
	struct extent_set free[TABLE_ARRAYS], pending[TABLE_ARRAYS];
};

void table_store_free(struct table_store *store)
{
	if (!store)
		return;
	for (int i = 0; i < TABLE_ARRAYS; i++) {
		extent_set_done(&store->free[i]);
		extent_set_done(&store->pending[i]);
	}
	free(store);
}

/*
 * Reserves memory for the extents of `tables` tables: there are at most as many pending extents as
 * tables, and at most one more free extent. So drop and reclaim cannot fail.
 */
static int reserve(struct table_store *store, size_t tables)
{
	for (int i = 0; i < TABLE_ARRAYS; i++) {
		int r = extent_set_reserve(&store->free[i], tables + 1, store->tables_max + 1);

		if (r == 0)
			r = extent_set_reserve(&store->pending[i], tables, store->tables_max);
		if (r < 0)
			return r;
	}
	return 0;
}

int table_store_new(const struct walk_maps *maps, size_t tables_max, struct table_store **ret_store)
{
	_cleanup_(table_store_freep) struct table_store *store = calloc(1, sizeof(*store));
	int r;

	if (!store)
		return -ENOMEM;
	store->arrays[TABLE_PAGES] = maps->pages;
	store->arrays[TABLE_LINES] = maps->lines;
	store->arrays[TABLE_RULES] = maps->rules;
	store->arrays[TABLE_ESCAPES] = maps->escapes;
	store->capacities[TABLE_PAGES] = maps->sizes.pages;
	store->capacities[TABLE_LINES] = maps->sizes.lines;
	store->capacities[TABLE_RULES] = maps->sizes.rules;
	store->capacities[TABLE_ESCAPES] = maps->sizes.escapes;
	store->tables_max = tables_max;
	r = reserve(store, 0);
	if (r < 0)
		return r;
	for (int i = 0; i < TABLE_ARRAYS; i++)
		extent_set_add(&store->free[i], 0, store->capacities[i]);
	*ret_store = TAKE_PTR(store);
	return 0;
}

static struct table_extent extent_of(
	uint32_t pages, uint32_t lines, uint32_t rules, uint32_t escapes)
{
	return (struct table_extent){ .entries = {
					      [TABLE_PAGES] = pages > 0 ? pages + 1 : 0,
					      [TABLE_LINES] = lines,
					      [TABLE_RULES] = rules,
					      [TABLE_ESCAPES] = escapes,
				      } };
}

struct table_extent table_store_extent(const struct unwind_table *table)
{
	const struct pilotlight_unwind_summary *summary = table->summary;

	return extent_of(summary->page_count, summary->line_count, summary->rule_count,
		summary->escape_count);
}

static int find_places(const struct table_store *store, const struct table_extent *extent,
	uint32_t ret_starts[TABLE_ARRAYS])
{
	for (int i = 0; i < TABLE_ARRAYS; i++)
		if (extent->entries[i] > store->capacities[i])
			return -EFBIG;
	for (int i = 0; i < TABLE_ARRAYS; i++) {
		ret_starts[i] = 0;
		if (extent->entries[i] > 0 &&
			!extent_set_find(&store->free[i], extent->entries[i], &ret_starts[i]))
			return -ENOSPC;
	}
	return 0;
}

static void copy(void *array, size_t bytes, uint32_t start, const void *entries, uint32_t count)
{
	if (count > 0)
		memcpy((uint8_t *)array + start * bytes, entries, count * bytes);
}

int table_store_put(struct table_store *store, const struct unwind_table *table,
	struct pilotlight_walk_file *placement)
{
	const struct pilotlight_unwind_summary *summary = table->summary;
	struct table_extent extent = table_store_extent(table);
	const void *const sources[] = { table->pages, table->lines, table->rules, table->escapes };
	uint32_t starts[TABLE_ARRAYS];
	int r = find_places(store, &extent, starts);

	if (r < 0)
		return r;
	r = reserve(store, store->tables + store->pending_tables + 1);
	if (r < 0)
		return r == -E2BIG ? -ENOSPC : r;
	for (int i = 0; i < TABLE_ARRAYS; i++) {
		if (extent.entries[i] == 0)
			continue;
		extent_set_remove(&store->free[i], starts[i], extent.entries[i]);
		copy(store->arrays[i], entry_bytes[i], starts[i], sources[i], extent.entries[i]);
	}
	store->tables++;
	placement->first_page = summary->first_page;
	placement->page_count = summary->page_count;
	placement->line_count = summary->line_count;
	placement->rule_count = summary->rule_count;
	placement->escape_count = summary->escape_count;
	placement->pages_at = starts[TABLE_PAGES];
	placement->lines_at = starts[TABLE_LINES];
	placement->rules_at = starts[TABLE_RULES];
	placement->escapes_at = starts[TABLE_ESCAPES];
	return 0;
}

bool table_store_holds(const struct table_store *store, const struct unwind_table *table,
	const struct pilotlight_walk_file *placement)
{
	const struct pilotlight_unwind_summary *summary = table->summary;
	struct table_extent extent = table_store_extent(table);
	const void *const sources[] = { table->pages, table->lines, table->rules, table->escapes };
	const uint32_t starts[] = { placement->pages_at, placement->lines_at, placement->rules_at,
		placement->escapes_at };

	if (placement->first_page != summary->first_page ||
		placement->page_count != summary->page_count ||
		placement->line_count != summary->line_count ||
		placement->rule_count != summary->rule_count ||
		placement->escape_count != summary->escape_count)
		return false;
	for (int i = 0; i < TABLE_ARRAYS; i++)
		if (extent.entries[i] > 0 &&
			memcmp((const uint8_t *)store->arrays[i] + starts[i] * entry_bytes[i],
				sources[i], extent.entries[i] * entry_bytes[i]) != 0)
			return false;
	return true;
}

void table_store_drop(struct table_store *store, const struct pilotlight_walk_file *placement)
{
	const uint32_t starts[] = { placement->pages_at, placement->lines_at, placement->rules_at,
		placement->escapes_at };
	struct table_extent extent = extent_of(placement->page_count, placement->line_count,
		placement->rule_count, placement->escape_count);

	assert(store->tables > 0);
	for (int i = 0; i < TABLE_ARRAYS; i++)
		extent_set_add(&store->pending[i], starts[i], extent.entries[i]);
	store->tables--;
	store->pending_tables++;
}

void table_store_reclaim(struct table_store *store)
{
	for (int i = 0; i < TABLE_ARRAYS; i++)
		extent_set_move(&store->free[i], &store->pending[i]);
	store->pending_tables = 0;
}

bool table_store_has_room(const struct table_store *store, const struct table_extent *extent)
{
	uint32_t starts[TABLE_ARRAYS];

	return store->tables + store->pending_tables < store->tables_max &&
	       find_places(store, extent, starts) == 0;
}

bool table_store_will_fit(const struct table_store *store, const struct table_extent *extent)
{
	if (store->tables >= store->tables_max)
		return false;
	for (int i = 0; i < TABLE_ARRAYS; i++)
		if (!extent_set_union_has(&store->free[i], &store->pending[i], extent->entries[i]))
			return false;
	return true;
}

bool table_store_may_fit(const struct table_store *store, const struct table_extent *extent,
	const uint64_t more[TABLE_ARRAYS])
{
	for (int i = 0; i < TABLE_ARRAYS; i++)
		if (store->free[i].entries + store->pending[i].entries + more[i] <
			extent->entries[i])
			return false;
	return true;
}

bool table_store_is_large(const struct table_store *store, const struct table_extent *extent)
{
	for (int i = 0; i < TABLE_ARRAYS; i++)
		if (extent->entries[i] > store->capacities[i] / LARGE_SHARE)
			return true;
	return false;
}

struct table_store_usage table_store_usage(const struct table_store *store)
{
	struct table_store_usage usage = { .tables = store->tables };

	for (int i = 0; i < TABLE_ARRAYS; i++) {
		uint64_t used =
			store->capacities[i] - store->free[i].entries - store->pending[i].entries;

		usage.used_bytes += used * entry_bytes[i];
		usage.pending_bytes += store->pending[i].entries * entry_bytes[i];
		usage.limit_bytes += (uint64_t)store->capacities[i] * entry_bytes[i];
	}
	return usage;
}
