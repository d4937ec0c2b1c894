/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A table may be evicted if no file that has it was used in this window or the two before. The cost
 * per window is bounded by a number of room checks: any user who can map files can cause many files
 * and many free ranges (I4b).
 */
#include "unwind/unwinder_state.h"

#include <assert.h>

enum {
	ROOM_CHECKS_MAX = 256, /* per window */
	DISPLACE_CHECKS = 16,  /* choosing tables in use takes as long as so many checks */
};

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

static struct shared_table *table_of(struct unwinder *unwinder, const struct walk_file *file)
{
	return shared_tables_get(unwinder->tables, file->table);
}

/* Reading the use of every file costs a system call each: only in windows that need room. */
static void rank(struct unwinder *unwinder)
{
	size_t positions = walk_files_positions(unwinder->files);

	if (walk_files_is_ranked(unwinder->files))
		return;
	for (size_t i = 0; i < positions; i++) {
		struct walk_file *file = walk_files_at(unwinder->files, i);

		if (file)
			unwinder_refresh_use(unwinder, file);
	}
	walk_files_rank(unwinder->files);
}

/* Finds out which tables are in use, and how many entries all others take. */
static void count_idle(struct unwinder *unwinder, uint64_t ret_idle[TABLE_ARRAYS])
{
	size_t tables = shared_tables_positions(unwinder->tables);
	size_t positions = walk_files_positions(unwinder->files);

	for (uint32_t i = 0; i < tables; i++)
		shared_tables_get(unwinder->tables, i)->is_in_use = false;
	for (size_t i = 0; i < positions; i++) {
		const struct walk_file *file = walk_files_at(unwinder->files, i);

		if (file && file->state == WALK_FILE_LOADED &&
			walk_files_is_recent(unwinder->files, file))
			table_of(unwinder, file)->is_in_use = true;
	}
	for (int i = 0; i < TABLE_ARRAYS; i++)
		ret_idle[i] = 0;
	for (uint32_t i = 0; i < tables; i++) {
		const struct shared_table *table = shared_tables_get(unwinder->tables, i);

		for (int j = 0; j < TABLE_ARRAYS && table->users > 0 && !table->is_in_use; j++)
			ret_idle[j] += table->extent.entries[j];
	}
}

/* Fails if the file has been used since the ranking. */
static bool evict(struct unwinder *unwinder, struct walk_file *file)
{
	unwinder_refresh_use(unwinder, file);
	if (walk_files_is_recent(unwinder->files, file)) {
		table_of(unwinder, file)->is_in_use = true;
		return false;
	}
	if (unwinder_change_state(unwinder, file, WALK_FILE_EVICTED, SHARED_TABLE_NONE) < 0)
		return false;
	unwinder->evictions++;
	return true;
}

/* Evicts the least recently used file whose table no other file uses. */
static bool evict_next_table(struct unwinder *unwinder)
{
	struct walk_file *file;

	while ((file = walk_files_next_stale(unwinder->files, true)))
		if (!table_of(unwinder, file)->is_in_use && evict(unwinder, file))
			return true;
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

/* Returns true if there is room now, or if the window's checks are used up. */
static bool evict_idle(struct unwinder *unwinder, const struct table_extent *extent,
	const uint64_t idle[TABLE_ARRAYS])
{
	if (!table_store_may_fit(unwinder->store, extent, idle))
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

/* Tables of the user who holds the most. Without them that user still holds no less than another
 * will, so neither displaces the other's tables in turn. */
struct displacement {
	const struct unwinder *unwinder;
	const struct user_counter *greatest;
	uint64_t least; /* that the user must still hold */
};

static bool may_be_displaced(const void *context, const struct shared_table *table)
{
	const struct displacement *displacement = context;
	const struct unwinder *unwinder = displacement->unwinder;

	return user_share_is_counter(&unwinder->share, displacement->greatest, table->user) &&
	       displacement->greatest->held >=
		       displacement->least + unwinder_weight(unwinder, &table->extent);
}

static uint64_t weight_of(struct unwinder *unwinder, const struct unwinder_chosen *chosen)
{
	uint64_t weight = 0;

	for (size_t i = 0; i < chosen->count; i++)
		weight += unwinder_weight(
			unwinder, &shared_tables_get(unwinder->tables, chosen->numbers[i])->extent);
	return weight;
}

static bool displace(struct unwinder *unwinder, const struct table_extent *extent, uint64_t user)
{
	const struct displacement displacement = {
		.unwinder = unwinder,
		.greatest = user_share_greatest(&unwinder->share),
		.least =
			user_share_held(&unwinder->share, user) + unwinder_weight(unwinder, extent),
	};
	const struct unwinder_leaving leaving = {
		.may_leave = may_be_displaced,
		.context = &displacement,
		.count_max = UNWINDER_LEAVING_MAX,
	};
	uint64_t greatest = displacement.greatest->user;
	struct unwinder_chosen chosen;

	unwinder_choose_leaving(unwinder, extent, &leaving, &chosen);
	if (displacement.greatest->held < displacement.least + weight_of(unwinder, &chosen))
		return false;
	for (size_t i = 0; i < chosen.count; i++)
		evict_table(unwinder, chosen.numbers[i]);
	user_excess_add(&unwinder->excess, greatest, USER_UNWIND, chosen.count);
	return chosen.count > 0;
}

static bool is_large(const void *context, const struct shared_table *table)
{
	const struct unwinder *unwinder = context;

	return table_store_is_large(unwinder->store, &table->extent);
}

/* Evicts a large table that is in use. Nothing else would ever displace it. */
static void evict_large(struct unwinder *unwinder, const struct table_extent *extent)
{
	const struct unwinder_leaving leaving = {
		.may_leave = is_large, .context = unwinder, .count_max = 1
	};
	struct unwinder_chosen chosen;

	unwinder_choose_leaving(unwinder, extent, &leaving, &chosen);
	if (chosen.count == 0)
		return;
	evict_table(unwinder, chosen.numbers[0]);
	unwinder->has_large_left = true;
}

void unwinder_make_table_room(
	struct unwinder *unwinder, const struct table_extent *extent, uint64_t user)
{
	uint64_t idle[TABLE_ARRAYS];

	rank(unwinder);
	count_idle(unwinder, idle);
	if (evict_idle(unwinder, extent, idle) || unwinder->room_checks_left < DISPLACE_CHECKS)
		return;
	unwinder->room_checks_left -= DISPLACE_CHECKS;
	count_idle(unwinder, idle);
	if (displace(unwinder, extent, user) || unwinder->has_large_left ||
		table_store_is_large(unwinder->store, extent))
		return;
	evict_large(unwinder, extent);
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
	unwinder_forget_file(unwinder, file);
}

/* Forgets a file that is not in use. */
static bool forget(struct unwinder *unwinder, struct walk_file *file)
{
	unwinder_refresh_use(unwinder, file);
	if (walk_files_is_recent(unwinder->files, file) ||
		(file->state == WALK_FILE_LOADED && !evict(unwinder, file)) ||
		unwinder_drop_file(unwinder, file) < 0)
		return false;
	unwinder_forget_file(unwinder, file);
	/* A sample that raced with this shows [unknown]. */
	file->binary = WALK_FILES_UNKNOWN_BINARY;
	return true;
}

void unwinder_collect(struct unwinder *unwinder, const struct unwinder_collection *collection)
{
	size_t positions = walk_files_positions(unwinder->files);

	for (size_t i = 0; i < positions; i++) {
		struct walk_file *file = walk_files_at_or_gone(unwinder->files, i);

		if (!file || file->binary == WALK_FILES_UNKNOWN_BINARY ||
			!collection->is_doomed(collection->context, file->binary))
			continue;
		if (file->state == WALK_FILE_GONE || !forget(unwinder, file))
			collection->spare(collection->context, file->binary);
	}
}
