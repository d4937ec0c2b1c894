/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sampler's entry of a file always follows from the file's state. */
#include "capture/walk_maps.h"
#include "unwind/unwinder_state.h"

static int put_file(
	struct unwinder *unwinder, struct walk_file *file, const struct pilotlight_walk_file *entry)
{
	int r = walk_maps_put_file(unwinder->maps, &file->key, entry);

	if (r < 0) {
		unwinder->map_errors++;
		return r;
	}
	file->entry = *entry;
	file->has_entry = true;
	return 0;
}

int unwinder_drop_file(struct unwinder *unwinder, struct walk_file *file)
{
	int r;

	if (!file->has_entry)
		return 0;
	r = walk_maps_drop_file(unwinder->maps, &file->key);
	if (r < 0) {
		unwinder->map_errors++;
		return r;
	}
	file->has_entry = false;
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
	case WALK_FILE_UNIDENTIFIED:
		return PILOTLIGHT_FILE_HAS_NOTHING | PILOTLIGHT_FILE_BY_ADDRESS;
	case WALK_FILE_EVICTED:
	case WALK_FILE_RETRY:
		/* Callers without a table are better than none. */
		return file->keeps_frame_pointers ? PILOTLIGHT_FILE_BY_FRAME_POINTER : 0;
	case WALK_FILE_PENDING:
	case WALK_FILE_GONE:
		break;
	}
	return 0;
}

void unwinder_refresh_use(struct unwinder *unwinder, struct walk_file *file)
{
	uint32_t window;

	if (!file->has_entry)
		return;
	if (walk_maps_used_window(unwinder->maps, &file->key, &window) == 0)
		walk_files_use(file, window);
	else
		unwinder->map_errors++;
}

int unwinder_set_due(struct unwinder *unwinder, struct walk_file *file)
{
	struct pilotlight_walk_file entry;

	if (file->entry.flags & PILOTLIGHT_FILE_IS_DUE)
		return 0;
	unwinder_refresh_use(unwinder, file);
	entry = file->entry;
	entry.flags |= PILOTLIGHT_FILE_IS_DUE;
	return put_file(unwinder, file, &entry);
}

int unwinder_change_state(struct unwinder *unwinder, struct walk_file *file,
	enum walk_file_state state, uint32_t table)
{
	const enum walk_file_state before = file->state;
	struct pilotlight_walk_file entry = { 0 };
	int r;

	/* The sampler may have noted a use in the old entry. */
	unwinder_refresh_use(unwinder, file);
	if (state == WALK_FILE_LOADED)
		entry = shared_tables_get(unwinder->tables, table)->place;
	entry.id = file->entry.id;
	entry.flags = flags_of(file, state);
	if (file->has_runtime) {
		entry.flags |= file->runtime_flag;
		entry.runtime = file->runtime;
	}
	entry.used_window = file->entry.used_window;
	r = put_file(unwinder, file, &entry);
	if (r < 0)
		return r;
	file->state = state;
	file->failures = 0;
	if (before == WALK_FILE_LOADED)
		unwinder_release(unwinder, file->table);
	file->table = table;
	return 0;
}

void unwinder_forget_file(struct unwinder *unwinder, struct walk_file *file)
{
	if (file->has_runtime)
		runtime_slots_release(&unwinder->runtimes, file->runtime);
	file->has_runtime = false;
	walk_files_forget(unwinder->files, file);
}
