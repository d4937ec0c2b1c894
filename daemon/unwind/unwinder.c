/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unwind/unwinder_state.h"

#include "symbol/runtime_description.h"
#include "symbol/symbol_file.h"
#include "unwind/unwind_table.h"

#include <errno.h>
#include <stdlib.h>

enum {
	RETRY_SHIFT_MAX = 6, /* 64 windows */
	UNIDENTIFIED_SHARE = 4,
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
	unwinder->share.capacity = UNWINDER_WHOLE_PPM;
	unwinder->files_max = files_max;
	runtime_slots_init(
		&unwinder->runtimes, settings->set_runtime, settings->set_runtime_context);
	unwinder_begin_room(unwinder);
	r = walk_files_new(files_max, settings->first_file_id, &unwinder->files);
	if (r < 0)
		return r;
	/* A dropped table may have a successor before it is reclaimed. */
	r = table_store_new(settings->maps, 2 * files_max, &unwinder->store);
	if (r == 0)
		r = shared_tables_new(unwinder->store, &unwinder->tables);
	if (r < 0)
		return r;
	*ret_unwinder = TAKE_PTR(unwinder);
	return 0;
}

/* --- files --- */

/* Adds a file without an entry. */
static int add_file(struct unwinder *unwinder, const struct pilotlight_file_key *key,
	uint32_t binary, struct walk_file **ret_file)
{
	if (walk_files_is_full(unwinder->files))
		unwinder_make_file_room(unwinder);
	return walk_files_add(unwinder->files, key, binary, ret_file);
}

int unwinder_request(struct unwinder *unwinder, const struct pilotlight_file_key *key,
	uint32_t binary, uint32_t *ret_file_id, bool *ret_is_new)
{
	struct walk_file *file = walk_files_find_key(unwinder->files, key);
	bool is_known = file, is_new = !file || file->state == WALK_FILE_UNIDENTIFIED;
	int r = 0;

	if (!is_known)
		r = add_file(unwinder, key, binary, &file);
	if (r < 0)
		return r;
	if (is_new) {
		r = unwinder_change_state(unwinder, file, WALK_FILE_PENDING, SHARED_TABLE_NONE);
		if (r < 0 && !is_known)
			unwinder_forget_file(unwinder, file);
		if (r < 0)
			return r;
	}
	walk_files_use(file, walk_files_window(unwinder->files));
	if (binary != WALK_FILES_UNKNOWN_BINARY)
		file->binary = binary;
	*ret_file_id = file->entry.id;
	*ret_is_new = is_new;
	return 0;
}

/* The window `1 << shift` windows from now, up to the maximum. */
static uint32_t retry_window(const struct unwinder *unwinder, uint32_t shift)
{
	return walk_files_window(unwinder->files) +
	       (1U << (shift < RETRY_SHIFT_MAX ? shift : RETRY_SHIFT_MAX));
}

static void note_failure(struct walk_file *file)
{
	file->failures += file->failures < RETRY_SHIFT_MAX;
}

/* On failure a file that was added for this is forgotten again. */
static int mark_unidentified(
	struct unwinder *unwinder, struct walk_file *file, bool is_hopeless, bool is_known)
{
	const uint8_t failures = file->failures;
	int r;

	r = unwinder_change_state(unwinder, file, WALK_FILE_UNIDENTIFIED, SHARED_TABLE_NONE);
	if (r < 0) {
		if (!is_known)
			unwinder_forget_file(unwinder, file);
		return r;
	}
	file->failures = failures;
	file->retry_window = retry_window(unwinder, is_hopeless ? RETRY_SHIFT_MAX : failures);
	note_failure(file);
	walk_files_use(file, walk_files_window(unwinder->files));
	return 0;
}

int unwinder_set_unidentified(
	struct unwinder *unwinder, const struct pilotlight_file_key *key, bool is_hopeless)
{
	struct walk_file *file = walk_files_find_key(unwinder->files, key);
	bool is_known = file;
	int r;

	/* The request is older than the entry. */
	if (is_known && !(file->entry.flags & PILOTLIGHT_FILE_IS_DUE))
		return 0;
	if (!is_known) {
		if (unwinder->unidentified >= unwinder->files_max / UNIDENTIFIED_SHARE)
			return -ENOSPC;
		r = add_file(unwinder, key, WALK_FILES_UNKNOWN_BINARY, &file);
		if (r < 0)
			return r;
	}
	r = mark_unidentified(unwinder, file, is_hopeless, is_known);
	unwinder->unidentified += r == 0 && !is_known;
	return r;
}

static struct walk_file *find_present(struct unwinder *unwinder, uint32_t file_id)
{
	struct walk_file *file = walk_files_find_id(unwinder->files, file_id);

	return file && file->state != WALK_FILE_GONE ? file : NULL;
}

static int load(struct unwinder *unwinder, struct walk_file *file, const struct unwind_table *table)
{
	uint32_t number = SHARED_TABLE_NONE;
	int r = shared_tables_acquire(unwinder->tables, &file->identity, table, &number);

	if (r < 0)
		return r;
	unwinder_charge(unwinder, file, number);
	r = unwinder_change_state(unwinder, file, WALK_FILE_LOADED, number);
	if (r < 0) {
		unwinder_release(unwinder, number);
		return r;
	}
	file->extent = table_store_extent(table);
	return 0;
}

/* `error`: why no table is loaded; 0: none is needed. A loaded table stays. */
static int set_without_table(struct unwinder *unwinder, struct walk_file *file, int error)
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
		return set_without_table(unwinder, file, -ENODATA);
	file->keeps_frame_pointers = table->summary->flags & PILOTLIGHT_UNWIND_KEEPS_FRAME_POINTERS;
	file->tells_rbx = table->summary->flags & PILOTLIGHT_UNWIND_TELLS_RBX;
	if (table->summary->row_count == 0)
		return set_without_table(unwinder, file, file->keeps_frame_pointers ? 0 : -ENODATA);
	r = load(unwinder, file, table);
	if (r != -ENOSPC && r != -EFBIG)
		return r;
	unwinder->tables_refused++;
	user_excess_add(&unwinder->excess, file->user, USER_UNWIND, 1);
	if (r == -ENOSPC && file->state != WALK_FILE_LOADED) {
		unwinder_make_table_room(unwinder, &extent, file->user);
		file->extent = extent;
	}
	return set_without_table(unwinder, file, r);
}

static uint32_t flag_of(const struct pilotlight_runtime *runtime)
{
	switch (runtime->language) {
	case PILOTLIGHT_RUNTIME_THREAD_CONTEXT:
		return PILOTLIGHT_FILE_HAS_CONTEXT;
	case PILOTLIGHT_RUNTIME_HOTSPOT:
		return PILOTLIGHT_FILE_HAS_HOTSPOT;
	default:
		return PILOTLIGHT_FILE_HAS_RUNTIME;
	}
}

/* Without its description, frames of an interpreter are those of its native code, and threads have
 * no context. */
static void set_runtime(
	struct unwinder *unwinder, struct walk_file *file, const struct symbol_file *symbols)
{
	const struct pilotlight_runtime *runtime;
	uint32_t number;
	int r = runtime_description_find(symbols, &runtime);

	if (r == 0)
		r = runtime_slots_acquire(&unwinder->runtimes, runtime, file->user, &number);
	file->lacks_runtime = r == -ENOSPC;
	unwinder->runtimes_refused += file->lacks_runtime;
	if (file->has_runtime)
		runtime_slots_release(&unwinder->runtimes, file->runtime);
	file->has_runtime = r == 0;
	if (r < 0)
		return;
	file->runtime_flag = flag_of(runtime);
	file->runtime = number;
}

int unwinder_set_table(struct unwinder *unwinder, uint32_t file_id, const struct symbol_file *file)
{
	struct walk_file *of = find_present(unwinder, file_id);
	struct unwind_table table;
	int r;

	if (!of)
		return -ENOENT;
	of->identity = symbol_file_identity(file);
	set_runtime(unwinder, of, file);
	r = unwind_table_init(&table, file);
	unwinder->damaged += r == -EBADMSG;
	return r < 0 ? set_without_table(unwinder, of, r) : set_checked_table(unwinder, of, &table);
}

int unwinder_set_nothing(struct unwinder *unwinder, uint32_t file_id)
{
	struct walk_file *file = find_present(unwinder, file_id);
	int r;

	if (!file)
		return -ENOENT;
	r = set_without_table(unwinder, file, -ENODATA);
	return r == -ENODATA ? 0 : r;
}

int unwinder_retry_later(struct unwinder *unwinder, uint32_t file_id)
{
	struct walk_file *file = find_present(unwinder, file_id);

	if (!file)
		return -ENOENT;
	/* Only a description is loaded after the table. */
	if (file->state == WALK_FILE_LOADED)
		file->lacks_runtime = true;
	else if (file->state == WALK_FILE_PENDING)
		file->state = WALK_FILE_RETRY;
	else
		return 0;
	/* The sampler's entry stays the same. */
	note_failure(file);
	file->retry_window = retry_window(unwinder, file->failures);
	return 0;
}

void unwinder_set_identity(
	struct unwinder *unwinder, uint32_t file_id, const struct symbol_identity *identity)
{
	struct walk_file *file = find_present(unwinder, file_id);

	if (file)
		file->identity = *identity;
}

void unwinder_set_user(struct unwinder *unwinder, uint32_t file_id, uint64_t user)
{
	struct walk_file *file = find_present(unwinder, file_id);

	if (file)
		file->user = user;
}

/* --- windows --- */

/* Lets the sampler request the files again whose retry is due. */
static void ask_for_unidentified(struct unwinder *unwinder)
{
	size_t positions = walk_files_positions(unwinder->files);

	unwinder->unidentified = 0;
	for (size_t i = 0; i < positions; i++) {
		struct walk_file *file = walk_files_at(unwinder->files, i);

		if (!file || file->state != WALK_FILE_UNIDENTIFIED)
			continue;
		unwinder->unidentified++;
		if (walk_files_window(unwinder->files) < file->retry_window)
			continue;
		(void)unwinder_set_due(unwinder, file);
	}
}

void unwinder_begin_window(struct unwinder *unwinder, uint32_t window)
{
	table_store_reclaim(unwinder->store);
	walk_files_begin_window(unwinder->files, window);
	runtime_slots_begin_window(&unwinder->runtimes, window);
	unwinder_begin_room(unwinder);
	ask_for_unidentified(unwinder);
	unwinder->reloads_left = walk_files_positions(unwinder->files);
}

static bool may_load(struct unwinder *unwinder, struct walk_file *file)
{
	unwinder_refresh_use(unwinder, file);
	if (!walk_files_is_recent(unwinder->files, file))
		return false;
	if (file->state == WALK_FILE_RETRY ||
		shared_tables_has(unwinder->tables, &file->identity, &file->extent) ||
		unwinder_has_room(unwinder, &file->extent))
		return true;
	unwinder_make_table_room(unwinder, &file->extent, file->user);
	return false;
}

static bool is_due(const struct unwinder *unwinder, const struct walk_file *file)
{
	bool may_retry = walk_files_window(unwinder->files) >= file->retry_window;

	if (file->state == WALK_FILE_RETRY)
		return may_retry;
	/* The description is beside the table. */
	if (file->state == WALK_FILE_LOADED)
		return file->lacks_runtime && may_retry &&
		       runtime_slots_have_room(&unwinder->runtimes, file->user);
	return file->state == WALK_FILE_EVICTED;
}

/* If the checks are used up, the next window goes on from there, so each file gets its turn. */
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
		if (file->state != WALK_FILE_LOADED)
			file->state = WALK_FILE_PENDING;
		file->lacks_runtime = false;
		*ret_file_id = file->entry.id;
		return true;
	}
	return false;
}

/* --- queries --- */

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
		report->pending += file->state == WALK_FILE_PENDING;
		report->loaded += file->state == WALK_FILE_LOADED;
		report->evicted += file->state == WALK_FILE_EVICTED;
		report->nothing += file->state == WALK_FILE_NOTHING;
		report->retry += file->state == WALK_FILE_RETRY;
		report->unidentified += file->state == WALK_FILE_UNIDENTIFIED;
		report->interpreters +=
			file->has_runtime && file->runtime_flag != PILOTLIGHT_FILE_HAS_CONTEXT;
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
		.runtimes_refused = unwinder->runtimes_refused,
		.damaged = unwinder->damaged,
		.map_errors = unwinder->map_errors,
		.tables = usage.tables,
		.used_bytes = usage.used_bytes,
		.pending_bytes = usage.pending_bytes,
		.limit_bytes = usage.limit_bytes,
	};
	count_states(unwinder, ret_report);
}

const struct user_share *unwinder_share(const struct unwinder *unwinder)
{
	return &unwinder->share;
}

const struct user_excess *unwinder_excess(const struct unwinder *unwinder)
{
	return &unwinder->excess;
}
