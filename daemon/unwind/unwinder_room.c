/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A table makes room when all of its users are idle: out of use for two windows. What a window may
 * cost is bounded: the free ranges are as many as there are tables, and whoever can map files can
 * have many of both.
 */
#include "unwind/unwinder_state.h"

#include <assert.h>

enum { ROOM_CHECKS_MAX = 256 }; /* a window */

void unwinder_begin_room(struct unwinder *unwinder)
{
	unwinder->room_checks_left = ROOM_CHECKS_MAX;
	unwinder->has_large_left = false;
}

bool unwinder_has_room(struct unwinder *unwinder, const struct table_extent *extent)
{
	assert(unwinder->room_checks_left > 0);
	unwinder->room_checks_left--;
	return table_store_has_room(unwinder->store, extent);
}

static bool is_idle(const struct shared_table *table)
{
	return table->idle_users == table->users;
}

static void begin_ranking(struct unwinder *unwinder)
{
	size_t tables = shared_tables_positions(unwinder->tables);

	for (int i = 0; i < TABLE_ARRAYS; i++)
		unwinder->idle_entries[i] = 0;
	for (size_t i = 0; i < tables; i++)
		shared_tables_get(unwinder->tables, (uint32_t)i)->idle_users = 0;
}

/* Asking of every file costs a system call each: only in windows in which somebody must go. */
static void rank(struct unwinder *unwinder)
{
	size_t positions = walk_files_positions(unwinder->files);

	if (walk_files_is_ranked(unwinder->files))
		return;
	begin_ranking(unwinder);
	for (size_t i = 0; i < positions; i++) {
		struct walk_file *file = walk_files_at(unwinder->files, i);
		struct shared_table *table;

		if (!file)
			continue;
		unwinder_refresh_use(unwinder, file);
		file->is_idle = file->state == WALK_FILE_LOADED &&
				!walk_files_is_recent(unwinder->files, file);
		if (!file->is_idle)
			continue;
		table = shared_tables_get(unwinder->tables, file->table);
		table->idle_users++;
		for (int j = 0; j < TABLE_ARRAYS && is_idle(table); j++)
			unwinder->idle_entries[j] += table->extent.entries[j];
	}
	walk_files_rank(unwinder->files);
}

/* A table may be another than the one that was ranked. */
static void take_off_idle(struct unwinder *unwinder, const struct table_extent *extent)
{
	for (int i = 0; i < TABLE_ARRAYS; i++) {
		uint64_t entries = extent->entries[i];

		if (entries > unwinder->idle_entries[i])
			entries = unwinder->idle_entries[i];
		unwinder->idle_entries[i] -= entries;
	}
}

void unwinder_note_user(struct unwinder *unwinder, const struct shared_table *table)
{
	if (walk_files_is_ranked(unwinder->files) && table->idle_users > 0 &&
		table->idle_users + 1 == table->users)
		take_off_idle(unwinder, &table->extent);
}

/* It may have been used since the ranking. */
static bool evict(struct unwinder *unwinder, struct walk_file *file)
{
	const struct shared_table *table = shared_tables_get(unwinder->tables, file->table);
	bool was_idle = is_idle(table), is_last = table->users == 1, is_gone;

	unwinder_refresh_use(unwinder, file);
	is_gone = !walk_files_is_recent(unwinder->files, file) &&
		  unwinder_change_state(unwinder, file, WALK_FILE_EVICTED, SHARED_TABLE_NONE) == 0;
	/* It leaves no room, or has left it. */
	if (was_idle && (is_last || !is_gone))
		take_off_idle(unwinder, &file->extent);
	unwinder->evictions += is_gone;
	return is_gone;
}

/* Evicts the file that has been out of use for longest, for whose table others have no use. */
static bool evict_next_table(struct unwinder *unwinder)
{
	struct walk_file *file;

	while ((file = walk_files_next_stale(unwinder->files, true))) {
		const struct shared_table *table = shared_tables_get(unwinder->tables, file->table);

		if ((table->users == 1 || is_idle(table)) && evict(unwinder, file))
			return true;
	}
	return false;
}

static struct walk_file *evict_next_file(struct unwinder *unwinder)
{
	struct walk_file *file;

	while ((file = walk_files_next_stale(unwinder->files, true)))
		if (evict(unwinder, file))
			return file;
	return NULL;
}

/* Returns whether no more is to be done in this window. */
static bool make_idle_leave(struct unwinder *unwinder, const struct table_extent *extent)
{
	if (!table_store_may_fit(unwinder->store, extent, unwinder->idle_entries))
		return false;
	while (unwinder->room_checks_left > 0) {
		unwinder->room_checks_left--;
		if (table_store_will_fit(unwinder->store, extent))
			return true;
		if (!evict_next_table(unwinder))
			return false;
	}
	return true;
}

static void evict_table(struct unwinder *unwinder, uint32_t number)
{
	size_t positions = walk_files_positions(unwinder->files);

	for (size_t i = 0; i < positions; i++) {
		struct walk_file *file = walk_files_at(unwinder->files, i);

		if (file && file->state == WALK_FILE_LOADED && file->table == number)
			unwinder->evictions += unwinder_change_state(unwinder, file,
						       WALK_FILE_EVICTED, SHARED_TABLE_NONE) == 0;
	}
}

/* One that is in use, which nothing else makes leave. */
static void make_large_leave(struct unwinder *unwinder, const struct table_extent *extent)
{
	size_t tables = shared_tables_positions(unwinder->tables);

	for (uint32_t number = 0; number < tables; number++) {
		const struct shared_table *table = shared_tables_get(unwinder->tables, number);
		uint64_t more[TABLE_ARRAYS];

		if (table->users == 0 || is_idle(table) ||
			!table_store_is_large(unwinder->store, &table->extent))
			continue;
		for (int i = 0; i < TABLE_ARRAYS; i++)
			more[i] = unwinder->idle_entries[i] + table->extent.entries[i];
		if (table_store_may_fit(unwinder->store, extent, more)) {
			evict_table(unwinder, number);
			unwinder->has_large_left = true;
			return;
		}
	}
}

void unwinder_make_table_room(struct unwinder *unwinder, const struct table_extent *extent)
{
	rank(unwinder);
	if (make_idle_leave(unwinder, extent) || unwinder->has_large_left ||
		unwinder->room_checks_left == 0 || table_store_is_large(unwinder->store, extent))
		return;
	unwinder->room_checks_left--;
	make_large_leave(unwinder, extent);
}

void unwinder_make_file_room(struct unwinder *unwinder)
{
	struct walk_file *file;
	int r;

	rank(unwinder);
	do {
		file = walk_files_next_stale(unwinder->files, false);
		if (!file)
			file = evict_next_file(unwinder);
		if (!file)
			return;
		r = unwinder_drop_file(unwinder, file);
	} while (r < 0);
	walk_files_forget(unwinder->files, file);
}
