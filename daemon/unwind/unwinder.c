/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unwind/unwinder.h"

#include "unwind/unwind_table.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

struct unwinder {
	struct unwinder_maps maps;
	uint16_t machine;
	struct walk_files *files;
	struct table_store *store;
	size_t next_reload; /* a position in `files` */
	/* What the tables that could be made to leave take; good while the ranking is. */
	uint64_t stale_entries[TABLE_ARRAYS];
	uint64_t evictions, tables_refused, damaged, map_errors;
	uint32_t unplaced[UNWINDER_UNPLACED_MAX];
	size_t unplaced_count;
};

void unwinder_free(struct unwinder *unwinder)
{
	if (!unwinder)
		return;
	walk_files_free(unwinder->files);
	table_store_free(unwinder->store);
	free(unwinder);
}

int unwinder_new(const struct unwinder_settings *settings, struct unwinder **ret_unwinder)
{
	_cleanup_(unwinder_freep) struct unwinder *unwinder = calloc(1, sizeof(*unwinder));
	size_t files_max = settings->files_max;
	int r;

	if (!unwinder)
		return -ENOMEM;
	if (files_max > PILOTLIGHT_WALK_FILES_MAX)
		files_max = PILOTLIGHT_WALK_FILES_MAX;
	unwinder->maps = settings->maps;
	unwinder->machine = settings->machine;
	r = walk_files_new(files_max, &unwinder->files);
	if (r < 0)
		return r;
	/* One that is dropped may have a successor before it is reclaimed. */
	r = table_store_new(&settings->arrays, 2 * files_max, &unwinder->store);
	if (r < 0)
		return r;
	*ret_unwinder = TAKE_PTR(unwinder);
	return 0;
}

/* --- what the sampler is told --- */

static int put_file(struct unwinder *unwinder, const struct walk_file *file,
	const struct pilotlight_walk_file *told)
{
	int r = unwinder->maps.put_file(unwinder->maps.context, &file->key, told);

	unwinder->map_errors += r < 0;
	return r;
}

static uint32_t flags_of(const struct walk_file *file, enum walk_file_state state)
{
	switch (state) {
	case WALK_FILE_LOADED:
		return PILOTLIGHT_FILE_HAS_TABLE |
		       (file->tells_rbx ? PILOTLIGHT_FILE_TELLS_RBX : 0);
	case WALK_FILE_NOTHING:
		return PILOTLIGHT_FILE_HAS_NOTHING;
	case WALK_FILE_BY_FRAME_POINTER:
		return PILOTLIGHT_FILE_BY_FRAME_POINTER;
	case WALK_FILE_EVICTED:
		/* Better than no caller at all. */
		return file->keeps_frame_pointers ? PILOTLIGHT_FILE_BY_FRAME_POINTER : 0;
	case WALK_FILE_WANTED:
	case WALK_FILE_GONE:
		break;
	}
	return 0;
}

static void refresh_use(struct unwinder *unwinder, struct walk_file *file)
{
	uint32_t window;

	if (unwinder->maps.used_window(unwinder->maps.context, &file->key, &window) == 0)
		walk_files_use(file, window);
	else
		unwinder->map_errors++;
}

/* Without a table, or with the one that is placed in `placement` already. */
static int change_state(struct unwinder *unwinder, struct walk_file *file,
	enum walk_file_state state, const struct pilotlight_walk_file *placement)
{
	struct pilotlight_walk_file told =
		placement ? *placement : (struct pilotlight_walk_file){ 0 };
	const struct pilotlight_walk_file before = file->told;
	bool was_loaded = file->state == WALK_FILE_LOADED;
	int r;

	/* The sampler's note of a use must not be lost when all is put anew. */
	refresh_use(unwinder, file);
	told.id = before.id;
	told.flags = flags_of(file, state);
	told.used_window = file->told.used_window;
	r = put_file(unwinder, file, &told);
	if (r < 0)
		return r;
	file->told = told;
	file->state = state;
	if (was_loaded)
		table_store_drop(unwinder->store, &before);
	return 0;
}

/* --- who makes room --- */

/* Asking of every file costs a system call each: only in windows in which somebody must go. */
static void rank(struct unwinder *unwinder)
{
	size_t positions = walk_files_positions(unwinder->files);

	if (walk_files_is_ranked(unwinder->files))
		return;
	for (int i = 0; i < TABLE_ARRAYS; i++)
		unwinder->stale_entries[i] = 0;
	for (size_t i = 0; i < positions; i++) {
		struct walk_file *file = walk_files_at(unwinder->files, i);

		if (!file)
			continue;
		refresh_use(unwinder, file);
		if (file->state != WALK_FILE_LOADED || walk_files_is_recent(unwinder->files, file))
			continue;
		for (int j = 0; j < TABLE_ARRAYS; j++)
			unwinder->stale_entries[j] += file->extent.entries[j];
	}
	walk_files_rank(unwinder->files);
}

/* A table may be another than the one that was ranked. */
static void take_off_stale(struct unwinder *unwinder, const struct table_extent *extent)
{
	for (int i = 0; i < TABLE_ARRAYS; i++) {
		uint64_t entries = extent->entries[i];

		if (entries > unwinder->stale_entries[i])
			entries = unwinder->stale_entries[i];
		unwinder->stale_entries[i] -= entries;
	}
}

/* Evicts the table that has been out of use for longest; NULL: none could be. */
static struct walk_file *evict_next(struct unwinder *unwinder)
{
	struct walk_file *file;

	while ((file = walk_files_next_stale(unwinder->files, true))) {
		take_off_stale(unwinder, &file->extent);
		/* It may have been used since the ranking. */
		refresh_use(unwinder, file);
		if (!walk_files_is_recent(unwinder->files, file) &&
			change_state(unwinder, file, WALK_FILE_EVICTED, NULL) == 0) {
			unwinder->evictions++;
			return file;
		}
	}
	return NULL;
}

/* From the next window on, if at all; none goes where it cannot be enough. */
static void make_table_room(struct unwinder *unwinder, const struct table_extent *extent)
{
	rank(unwinder);
	if (!table_store_may_fit(unwinder->store, extent, unwinder->stale_entries))
		return;
	while (!table_store_will_fit(unwinder->store, extent) && evict_next(unwinder))
		;
}

static void make_file_room(struct unwinder *unwinder)
{
	struct walk_file *file;
	int r;

	rank(unwinder);
	do {
		file = walk_files_next_stale(unwinder->files, false);
		if (!file)
			file = evict_next(unwinder);
		if (!file)
			return;
		r = unwinder->maps.drop_file(unwinder->maps.context, &file->key);
		unwinder->map_errors += r < 0;
	} while (r < 0);
	walk_files_forget(unwinder->files, file);
}

/* --- files --- */

int unwinder_want(struct unwinder *unwinder, const struct pilotlight_file_key *key, uint32_t binary,
	uint32_t *ret_file_id, bool *ret_is_new)
{
	struct walk_file *file = walk_files_find_key(unwinder->files, key);
	bool is_new = !file;
	int r;

	if (is_new) {
		if (walk_files_is_full(unwinder->files))
			make_file_room(unwinder);
		r = walk_files_add(unwinder->files, key, binary, &file);
		if (r < 0)
			return r;
		r = put_file(unwinder, file, &file->told);
		if (r < 0) {
			walk_files_forget(unwinder->files, file);
			return r;
		}
	}
	walk_files_use(file, walk_files_window(unwinder->files));
	if (binary != WALK_FILES_UNKNOWN_BINARY)
		file->binary = binary;
	*ret_file_id = file->told.id;
	*ret_is_new = is_new;
	return 0;
}

static struct walk_file *find_present(struct unwinder *unwinder, uint32_t file_id)
{
	struct walk_file *file = walk_files_find_id(unwinder->files, file_id);

	return file && file->state != WALK_FILE_GONE ? file : NULL;
}

static void note_unplaced(struct unwinder *unwinder, uint32_t binary)
{
	unwinder->tables_refused++;
	if (binary == WALK_FILES_UNKNOWN_BINARY ||
		unwinder->unplaced_count == UNWINDER_UNPLACED_MAX)
		return;
	for (size_t i = 0; i < unwinder->unplaced_count; i++)
		if (unwinder->unplaced[i] == binary)
			return;
	unwinder->unplaced[unwinder->unplaced_count++] = binary;
}

static int load(struct unwinder *unwinder, struct walk_file *file, const struct unwind_table *table)
{
	struct table_extent extent = table_store_extent(table);
	struct pilotlight_walk_file placement = { 0 };
	int r = table_store_put(unwinder->store, table, &placement);

	if (r < 0)
		return r;
	r = change_state(unwinder, file, WALK_FILE_LOADED, &placement);
	if (r < 0) {
		table_store_drop(unwinder->store, &placement);
		return r;
	}
	file->extent = extent;
	return 0;
}

/* `error` is why its table is not loaded, 0 that none is needed: the sampler is told. */
static int settle_without(struct unwinder *unwinder, struct walk_file *file, int error)
{
	enum walk_file_state state = WALK_FILE_NOTHING;
	int r;

	if (error < 0 && file->state == WALK_FILE_LOADED)
		return error;
	if (error == -ENOSPC)
		state = WALK_FILE_EVICTED;
	else if (file->keeps_frame_pointers)
		state = WALK_FILE_BY_FRAME_POINTER;
	r = change_state(unwinder, file, state, NULL);
	return r < 0 ? r : error;
}

static int set_checked_table(
	struct unwinder *unwinder, struct walk_file *file, const struct unwind_table *table)
{
	struct table_extent extent = table_store_extent(table);
	int r;

	if (table->summary->machine != unwinder->machine)
		return settle_without(unwinder, file, -ENODATA);
	file->keeps_frame_pointers = table->summary->flags & PILOTLIGHT_UNWIND_KEEPS_FRAME_POINTERS;
	file->tells_rbx = table->summary->flags & PILOTLIGHT_UNWIND_TELLS_RBX;
	if (table->summary->row_count == 0)
		return settle_without(unwinder, file, file->keeps_frame_pointers ? 0 : -ENODATA);
	r = load(unwinder, file, table);
	if (r != -ENOSPC && r != -EFBIG)
		return r;
	note_unplaced(unwinder, file->binary);
	if (r == -ENOSPC && file->state != WALK_FILE_LOADED) {
		make_table_room(unwinder, &extent);
		file->extent = extent;
	}
	return settle_without(unwinder, file, r);
}

int unwinder_set_table(struct unwinder *unwinder, uint32_t file_id, const struct symbol_file *file)
{
	struct walk_file *of = find_present(unwinder, file_id);
	struct unwind_table table;
	int r;

	if (!of)
		return -ENOENT;
	r = unwind_table_init(&table, file);
	unwinder->damaged += r == -EBADMSG;
	return r < 0 ? settle_without(unwinder, of, r) : set_checked_table(unwinder, of, &table);
}

int unwinder_set_nothing(struct unwinder *unwinder, uint32_t file_id)
{
	struct walk_file *file = find_present(unwinder, file_id);
	int r;

	if (!file)
		return -ENOENT;
	r = settle_without(unwinder, file, -ENODATA);
	return r == -ENODATA ? 0 : r;
}

/* --- windows --- */

void unwinder_begin_window(struct unwinder *unwinder, uint32_t window)
{
	table_store_reclaim(unwinder->store);
	walk_files_begin_window(unwinder->files, window);
	unwinder->next_reload = 0;
}

bool unwinder_next_reload(struct unwinder *unwinder, uint32_t *ret_file_id)
{
	size_t positions = walk_files_positions(unwinder->files);

	while (unwinder->next_reload < positions) {
		struct walk_file *file = walk_files_at(unwinder->files, unwinder->next_reload++);

		if (!file || file->state != WALK_FILE_EVICTED)
			continue;
		refresh_use(unwinder, file);
		if (!walk_files_is_recent(unwinder->files, file))
			continue;
		if (!table_store_has_room(unwinder->store, &file->extent)) {
			make_table_room(unwinder, &file->extent);
			continue;
		}
		file->state = WALK_FILE_WANTED;
		*ret_file_id = file->told.id;
		return true;
	}
	return false;
}

/* --- what is known --- */

const struct walk_file *unwinder_file(struct unwinder *unwinder, uint32_t file_id)
{
	return walk_files_find_id(unwinder->files, file_id);
}

uint32_t unwinder_binary(struct unwinder *unwinder, uint32_t file_id)
{
	const struct walk_file *file = walk_files_find_id(unwinder->files, file_id);

	return file ? file->binary : WALK_FILES_UNKNOWN_BINARY;
}

static void count_states(struct unwinder *unwinder, struct unwinder_report *report)
{
	size_t positions = walk_files_positions(unwinder->files);

	for (size_t i = 0; i < positions; i++) {
		const struct walk_file *file = walk_files_at(unwinder->files, i);

		if (!file)
			continue;
		report->wanted += file->state == WALK_FILE_WANTED;
		report->loaded += file->state == WALK_FILE_LOADED;
		report->evicted += file->state == WALK_FILE_EVICTED;
		report->nothing += file->state == WALK_FILE_NOTHING;
		report->by_frame_pointer += file->state == WALK_FILE_BY_FRAME_POINTER;
	}
}

void unwinder_report(struct unwinder *unwinder, struct unwinder_report *ret_report)
{
	struct walk_files_counters files = walk_files_counters(unwinder->files);
	struct table_store_usage usage = table_store_usage(unwinder->store);

	*ret_report = (struct unwinder_report){
		.files = walk_files_count(unwinder->files),
		.evictions = unwinder->evictions,
		.tables_refused = unwinder->tables_refused,
		.files_refused = files.refused,
		.files_forgotten = files.forgotten,
		.damaged = unwinder->damaged,
		.map_errors = unwinder->map_errors,
		.used_bytes = usage.used_bytes,
		.pending_bytes = usage.pending_bytes,
		.limit_bytes = usage.limit_bytes,
		.memory_bytes = sizeof(*unwinder) + walk_files_bytes(unwinder->files) +
				table_store_bytes(unwinder->store),
		.unplaced_count = unwinder->unplaced_count,
	};
	for (size_t i = 0; i < unwinder->unplaced_count; i++)
		ret_report->unplaced[i] = unwinder->unplaced[i];
	count_states(unwinder, ret_report);
}
