/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/symbol_frames.h"

#include "base/cleanup.h"

#include <stddef.h>

/* Compilers split some functions into two or three parts, each with a symbol. */
enum { COPIES_A_FRAME = 2, COPIES_MIN = 64 * 1024 };

struct latest_copy {
	uint32_t frame; /* 0: no copy */
	uint32_t name;
};

int symbol_frames_init(struct symbol_frames *frames, struct scratch *scratch)
{
	int r;

	*frames = (struct symbol_frames){ 0 };
	r = scratch_array_init(
		&frames->frames, scratch, sizeof(struct pilotlight_symbol_frame), UINT32_MAX);
	if (r == 0)
		r = scratch_array_grow(&frames->frames);
	if (r == 0)
		frames->frames.count = 1;
	return r;
}

void symbol_frames_done(struct symbol_frames *frames)
{
	scratch_array_done(&frames->frames);
	scratch_array_done(&frames->latest);
	scratch_array_done(&frames->path);
	hash_index_done(&frames->by_name);
}

int symbol_frames_add(struct symbol_frames *frames, const struct pilotlight_symbol_frame *frame,
	uint32_t *ret_frame)
{
	uint32_t id = (uint32_t)frames->frames.count;
	int r = scratch_array_append(&frames->frames, frame, sizeof(*frame));

	if (r == 0)
		*ret_frame = id;
	return r;
}

/* --- symbols --- */

int symbol_frames_begin_symbols(struct symbol_frames *frames, struct scratch *scratch)
{
	size_t count = frames->frames.count;
	int r;

	frames->copied_max = COPIES_A_FRAME * count + COPIES_MIN;
	r = scratch_array_init(&frames->latest, scratch, sizeof(struct latest_copy), count);
	if (r == 0)
		r = scratch_array_init(&frames->path, scratch, sizeof(uint32_t), count);
	return r < 0 ? r : scratch_array_reserve(&frames->latest, count);
}

static bool has_name(const void *owner, uint32_t id, const void *key)
{
	const struct symbol_frames *frames = owner;
	const struct pilotlight_symbol_frame *all = frames->frames.items;

	return all[id].name == *(const uint32_t *)key;
}

int symbol_frames_find_symbol(struct symbol_frames *frames, uint32_t name, uint32_t *ret_frame)
{
	const struct pilotlight_symbol_frame frame = { .name = name };
	uint64_t hash = hash_pair(name, 0);
	uint32_t id = hash_index_find(&frames->by_name, hash, has_name, frames, &name);
	int r;

	if (id != HASH_INDEX_NONE) {
		*ret_frame = id;
		return 0;
	}
	r = hash_index_reserve(&frames->by_name);
	if (r == 0)
		r = symbol_frames_add(frames, &frame, &id);
	if (r < 0)
		return r;
	hash_index_insert(&frames->by_name, hash, id);
	*ret_frame = id;
	return 0;
}

static bool is_copied(const struct symbol_frames *frames, uint32_t frame, uint32_t name)
{
	const struct latest_copy *latest = (struct latest_copy *)frames->latest.items + frame;

	return latest->frame != 0 && latest->name == name;
}

/*
 * Collects the path from `frame` outwards to the first frame that has a copy, and returns that
 * copy; 0: none has.
 */
static int find_path(struct symbol_frames *frames, uint32_t frame, uint32_t root, uint32_t name,
	uint32_t *ret_copied)
{
	const struct pilotlight_symbol_frame *all = frames->frames.items;
	int r;

	frames->path.count = 0;
	while (!is_copied(frames, frame, name)) {
		r = scratch_array_append(&frames->path, &frame, sizeof(frame));
		if (r < 0)
			return r;
		if (frame == root) {
			*ret_copied = 0;
			return 0;
		}
		frame = all[frame].parent;
	}
	*ret_copied = ((struct latest_copy *)frames->latest.items)[frame].frame;
	return 0;
}

/* Copies the path below `parent`, from its end to its beginning. */
static int copy_path(
	struct symbol_frames *frames, uint32_t parent, uint32_t name, uint32_t *ret_frame)
{
	const uint32_t *path = frames->path.items;
	struct latest_copy *latest = frames->latest.items;
	int r;

	for (size_t i = frames->path.count; i-- > 0;) {
		const struct pilotlight_symbol_frame *all = frames->frames.items;
		struct pilotlight_symbol_frame frame = all[path[i]];

		if (parent == 0)
			frame.name = name;
		frame.parent = parent;
		r = symbol_frames_add(frames, &frame, &parent);
		if (r < 0)
			return r;
		latest[path[i]] = (struct latest_copy){ .frame = parent, .name = name };
	}
	frames->copied += frames->path.count;
	*ret_frame = parent;
	return 0;
}

static void refuse(struct symbol_frames *frames)
{
	/* Refuses all later copies too, so that no path is followed in vain again. */
	frames->copied_max = 0;
	frames->refused += frames->refused < UINT32_MAX;
}

int symbol_frames_rename(struct symbol_frames *frames, uint32_t frame, uint32_t root, uint32_t name,
	uint32_t *ret_frame)
{
	const struct pilotlight_symbol_frame *all = frames->frames.items;
	uint32_t copied = 0;
	int r;

	*ret_frame = frame;
	if (all[root].name == name)
		return 0;
	if (frames->copied >= frames->copied_max) {
		refuse(frames);
		return 0;
	}
	r = find_path(frames, frame, root, name, &copied);
	if (r < 0)
		return r;
	if (frames->path.count > frames->copied_max - frames->copied) {
		refuse(frames);
		return 0;
	}
	return copy_path(frames, copied, name, ret_frame);
}

/* --- removal --- */

static void mark(uint32_t *ids, const struct scratch_array *frames,
	const struct pilotlight_symbol_boundary *boundaries, size_t boundary_count)
{
	const struct pilotlight_symbol_frame *all = frames->items;

	for (size_t i = 0; i < boundary_count; i++)
		ids[boundaries[i].frame] = 1;
	for (size_t i = frames->count; i-- > 1;)
		if (ids[i])
			ids[all[i].parent] = 1;
	ids[0] = 0;
}

/* Each moves towards the beginning, over frames that were examined. */
static void move(uint32_t *ids, struct scratch_array *frames)
{
	struct pilotlight_symbol_frame *all = frames->items;
	uint32_t next = 1;

	for (size_t i = 1; i < frames->count; i++) {
		if (!ids[i])
			continue;
		all[next] = all[i];
		all[next].parent = ids[all[i].parent];
		ids[i] = next++;
	}
	frames->count = next;
}

int symbol_frames_remove_unused(
	struct symbol_frames *frames, struct scratch *scratch, struct scratch_array *boundaries)
{
	_cleanup_(scratch_array_done) struct scratch_array ids = { 0 };
	struct pilotlight_symbol_boundary *all = boundaries->items;
	int r;

	r = scratch_array_init(&ids, scratch, sizeof(uint32_t), frames->frames.count);
	if (r == 0)
		r = scratch_array_reserve(&ids, frames->frames.count);
	if (r < 0)
		return r;
	mark(ids.items, &frames->frames, all, boundaries->count);
	move(ids.items, &frames->frames);
	for (size_t i = 0; i < boundaries->count; i++)
		all[i].frame = ((uint32_t *)ids.items)[all[i].frame];
	return 0;
}
