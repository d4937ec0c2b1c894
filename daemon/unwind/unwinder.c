/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unwind/unwinder_state.h"

#include "symbol/symbol_file.h"
#include "unwind/unwind_table.h"

#include <errno.h>
#include <stdlib.h>

enum {
	AGAIN_SHIFT_MAX = 6, /* 64 windows */
	ASIDE_SHARE = 4,
};

void unwinder_free(struct unwinder *unwinder)
{
	if (!unwinder)
		return;
	walk_files_free(unwinder->files);
	shared_tables_free(unwinder->tables);
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
	unwinder->files_max = files_max;
	unwinder_begin_room(unwinder);
	r = walk_files_new(files_max, settings->first_file_id, &unwinder->files);
	if (r < 0)
		return r;
	/* One that is dropped may have a successor before it is reclaimed. */
	r = table_store_new(&settings->arrays, 2 * files_max, &unwinder->store);
	if (r == 0)
		r = shared_tables_new(unwinder->store, &unwinder->tables);
	if (r < 0)
		return r;
	*ret_unwinder = TAKE_PTR(unwinder);
	return 0;
}

/* --- what the sampler is told --- */

static int put_file(
	struct unwinder *unwinder, struct walk_file *file, const struct pilotlight_walk_file *told)
{
	int r = unwinder->maps.put_file(unwinder->maps.context, &file->key, told);

	if (r < 0) {
		unwinder->map_errors++;
		return r;
	}
	file->told = *told;
	file->is_told = true;
	return 0;
}

int unwinder_drop_file(struct unwinder *unwinder, struct walk_file *file)
{
	int r;

	if (!file->is_told)
		return 0;
	r = unwinder->maps.drop_file(unwinder->maps.context, &file->key);
	if (r < 0) {
		unwinder->map_errors++;
		return r;
	}
	file->is_told = false;
	return 0;
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
	case WALK_FILE_ASIDE:
		return PILOTLIGHT_FILE_HAS_NOTHING | PILOTLIGHT_FILE_BY_ADDRESS;
	case WALK_FILE_EVICTED:
	case WALK_FILE_LATER:
		/* Better than no caller at all. */
		return file->keeps_frame_pointers ? PILOTLIGHT_FILE_BY_FRAME_POINTER : 0;
	case WALK_FILE_WANTED:
	case WALK_FILE_GONE:
		break;
	}
	return 0;
}

void unwinder_refresh_use(struct unwinder *unwinder, struct walk_file *file)
{
	uint32_t window;

	if (!file->is_told)
		return;
	if (unwinder->maps.used_window(unwinder->maps.context, &file->key, &window) == 0)
		walk_files_use(file, window);
	else
		unwinder->map_errors++;
}

static void leave_table(struct unwinder *unwinder, struct walk_file *file, uint32_t table)
{
	shared_tables_get(unwinder->tables, table)->idle_users -= file->is_idle;
	file->is_idle = false;
	shared_tables_release(unwinder->tables, table);
}

int unwinder_change_state(struct unwinder *unwinder, struct walk_file *file,
	enum walk_file_state state, uint32_t table)
{
	const enum walk_file_state before = file->state;
	struct pilotlight_walk_file told = { 0 };
	int r;

	/* The sampler's note of a use must not be lost when all is put anew. */
	unwinder_refresh_use(unwinder, file);
	if (state == WALK_FILE_LOADED)
		told = shared_tables_get(unwinder->tables, table)->place;
	told.id = file->told.id;
	told.flags = flags_of(file, state);
	told.used_window = file->told.used_window;
	r = put_file(unwinder, file, &told);
	if (r < 0)
		return r;
	file->state = state;
	file->attempts = 0;
	if (before == WALK_FILE_LOADED)
		leave_table(unwinder, file, file->table);
	file->table = table;
	return 0;
}

/* --- files --- */

/* A new one, of which the sampler does not know as yet. */
static int add_file(struct unwinder *unwinder, const struct pilotlight_file_key *key,
	uint32_t binary, struct walk_file **ret_file)
{
	if (walk_files_is_full(unwinder->files))
		unwinder_make_file_room(unwinder);
	return walk_files_add(unwinder->files, key, binary, ret_file);
}

int unwinder_want(struct unwinder *unwinder, const struct pilotlight_file_key *key, uint32_t binary,
	uint32_t *ret_file_id, bool *ret_is_new)
{
	struct walk_file *file = walk_files_find_key(unwinder->files, key);
	bool is_known = file, is_new = !file || file->state == WALK_FILE_ASIDE;
	int r = 0;

	if (!is_known)
		r = add_file(unwinder, key, binary, &file);
	if (r < 0)
		return r;
	if (is_new) {
		r = unwinder_change_state(unwinder, file, WALK_FILE_WANTED, SHARED_TABLE_NONE);
		if (r < 0 && !is_known)
			walk_files_forget(unwinder->files, file);
		if (r < 0)
			return r;
	}
	walk_files_use(file, walk_files_window(unwinder->files));
	if (binary != WALK_FILES_UNKNOWN_BINARY)
		file->binary = binary;
	*ret_file_id = file->told.id;
	*ret_is_new = is_new;
	return 0;
}

/* The window that is `1 << shift` windows from now, or as many as there can be. */
static uint32_t again_window(const struct unwinder *unwinder, uint32_t shift)
{
	return walk_files_window(unwinder->files) +
	       (1U << (shift < AGAIN_SHIFT_MAX ? shift : AGAIN_SHIFT_MAX));
}

static void note_failure(struct walk_file *file)
{
	file->attempts += file->attempts < AGAIN_SHIFT_MAX;
}

/* The sampler is told; a file that is not to be known after all is forgotten again. */
static int put_aside(
	struct unwinder *unwinder, struct walk_file *file, bool is_hopeless, bool is_known)
{
	const uint8_t attempts = file->attempts;
	int r;

	r = unwinder_change_state(unwinder, file, WALK_FILE_ASIDE, SHARED_TABLE_NONE);
	if (r < 0) {
		if (!is_known)
			walk_files_forget(unwinder->files, file);
		return r;
	}
	file->attempts = attempts;
	file->again_window = again_window(unwinder, is_hopeless ? AGAIN_SHIFT_MAX : attempts);
	note_failure(file);
	walk_files_use(file, walk_files_window(unwinder->files));
	return 0;
}

int unwinder_set_aside(
	struct unwinder *unwinder, const struct pilotlight_file_key *key, bool is_hopeless)
{
	struct walk_file *file = walk_files_find_key(unwinder->files, key);
	bool is_known = file;
	int r;

	/* It was asked for before the sampler was told. */
	if (is_known && (file->state != WALK_FILE_ASIDE || file->is_told))
		return 0;
	if (!is_known) {
		if (unwinder->aside >= unwinder->files_max / ASIDE_SHARE)
			return -ENOSPC;
		r = add_file(unwinder, key, WALK_FILES_UNKNOWN_BINARY, &file);
		if (r < 0)
			return r;
	}
	r = put_aside(unwinder, file, is_hopeless, is_known);
	unwinder->aside += r == 0 && !is_known;
	return r;
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
	uint32_t number = SHARED_TABLE_NONE;
	int r = shared_tables_acquire(unwinder->tables, &file->identity, table, &number);

	if (r < 0)
		return r;
	unwinder_note_user(unwinder, shared_tables_get(unwinder->tables, number));
	r = unwinder_change_state(unwinder, file, WALK_FILE_LOADED, number);
	if (r < 0) {
		shared_tables_release(unwinder->tables, number);
		return r;
	}
	file->extent = table_store_extent(table);
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
	r = unwinder_change_state(unwinder, file, state, SHARED_TABLE_NONE);
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
		unwinder_make_table_room(unwinder, &extent);
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
	of->identity = symbol_file_identity(file);
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

int unwinder_set_later(struct unwinder *unwinder, uint32_t file_id)
{
	struct walk_file *file = find_present(unwinder, file_id);

	if (!file)
		return -ENOENT;
	if (file->state != WALK_FILE_WANTED)
		return 0;
	/* To the sampler it is what it was. */
	file->state = WALK_FILE_LATER;
	note_failure(file);
	file->again_window = again_window(unwinder, file->attempts);
	return 0;
}

void unwinder_set_identity(
	struct unwinder *unwinder, uint32_t file_id, const struct symbol_identity *identity)
{
	struct walk_file *file = find_present(unwinder, file_id);

	if (file)
		file->identity = *identity;
}

/* --- windows --- */

/* Those whose time has come may be asked for again. */
static void release_aside(struct unwinder *unwinder)
{
	size_t positions = walk_files_positions(unwinder->files);

	unwinder->aside = 0;
	for (size_t i = 0; i < positions; i++) {
		struct walk_file *file = walk_files_at(unwinder->files, i);

		if (!file || file->state != WALK_FILE_ASIDE)
			continue;
		unwinder->aside++;
		if (walk_files_window(unwinder->files) < file->again_window)
			continue;
		unwinder_refresh_use(unwinder, file);
		(void)unwinder_drop_file(unwinder, file);
	}
}

void unwinder_begin_window(struct unwinder *unwinder, uint32_t window)
{
	table_store_reclaim(unwinder->store);
	walk_files_begin_window(unwinder->files, window);
	unwinder_begin_room(unwinder);
	release_aside(unwinder);
	unwinder->reloads_left = walk_files_positions(unwinder->files);
}

static bool may_load(struct unwinder *unwinder, struct walk_file *file)
{
	unwinder_refresh_use(unwinder, file);
	if (!walk_files_is_recent(unwinder->files, file))
		return false;
	if (file->state == WALK_FILE_LATER ||
		shared_tables_has(unwinder->tables, &file->identity, &file->extent) ||
		unwinder_has_room(unwinder, &file->extent))
		return true;
	unwinder_make_table_room(unwinder, &file->extent);
	return false;
}

static bool is_due(const struct unwinder *unwinder, const struct walk_file *file)
{
	if (file->state == WALK_FILE_LATER)
		return walk_files_window(unwinder->files) >= file->again_window;
	return file->state == WALK_FILE_EVICTED;
}

/* The next window goes on where this one has no checks left, so that all have their turn. */
bool unwinder_next_reload(struct unwinder *unwinder, uint32_t *ret_file_id)
{
	size_t positions = walk_files_positions(unwinder->files);

	while (unwinder->reloads_left > 0 && unwinder->room_checks_left > 0) {
		struct walk_file *file;

		if (unwinder->next_reload >= positions)
			unwinder->next_reload = 0;
		file = walk_files_at(unwinder->files, unwinder->next_reload++);
		unwinder->reloads_left--;
		if (!file || !is_due(unwinder, file) || !may_load(unwinder, file))
			continue;
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
		report->later += file->state == WALK_FILE_LATER;
		report->aside += file->state == WALK_FILE_ASIDE;
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
		.tables = usage.tables,
		.used_bytes = usage.used_bytes,
		.pending_bytes = usage.pending_bytes,
		.limit_bytes = usage.limit_bytes,
		.memory_bytes = sizeof(*unwinder) + walk_files_bytes(unwinder->files) +
				table_store_bytes(unwinder->store) +
				shared_tables_bytes(unwinder->tables),
		.unplaced_count = unwinder->unplaced_count,
	};
	for (size_t i = 0; i < unwinder->unplaced_count; i++)
		ret_report->unplaced[i] = unwinder->unplaced[i];
	count_states(unwinder, ret_report);
}
