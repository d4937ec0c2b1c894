/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/frame_copies.h"

#include "pilotlight/symbol_file.h"

#include <stddef.h>

/* Compilers split some functions into two or three parts, each with a symbol. */
enum { COPIES_A_FRAME = 2, COPIES_MIN = 64 * 1024 };

struct latest_copy {
	uint32_t frame; /* 0: no copy */
	uint32_t name;
};

int frame_copies_init(
	struct frame_copies *copies, struct scratch *scratch, struct scratch_array *frames)
{
	int r;

	*copies = (struct frame_copies){
		.frames = frames,
		.copied_max = COPIES_A_FRAME * frames->count + COPIES_MIN,
	};
	r = scratch_array_init(&copies->latest, scratch, sizeof(struct latest_copy), frames->count);
	if (r == 0)
		r = scratch_array_init(&copies->path, scratch, sizeof(uint32_t), frames->count);
	if (r == 0)
		r = scratch_array_reserve(&copies->latest, frames->count);
	if (r < 0)
		frame_copies_done(copies);
	return r;
}

void frame_copies_done(struct frame_copies *copies)
{
	scratch_array_done(&copies->latest);
	scratch_array_done(&copies->path);
	hash_index_done(&copies->by_name);
}

static int append(
	struct scratch_array *frames, const struct pilotlight_symbol_frame *frame, uint32_t *ret_id)
{
	int r = scratch_array_grow(frames);

	if (r < 0)
		return r;
	*ret_id = (uint32_t)frames->count;
	((struct pilotlight_symbol_frame *)frames->items)[frames->count++] = *frame;
	return 0;
}

static bool has_name(const void *owner, uint32_t id, const void *key)
{
	const struct frame_copies *copies = owner;
	const struct pilotlight_symbol_frame *frames = copies->frames->items;

	return frames[id].name == *(const uint32_t *)key;
}

int frame_copies_add(struct frame_copies *copies, uint32_t name, uint32_t *ret_frame)
{
	const struct pilotlight_symbol_frame frame = { .name = name };
	uint64_t hash = hash_pair(name, 0);
	uint32_t id = hash_index_find(&copies->by_name, hash, has_name, copies, &name);
	int r;

	if (id != HASH_INDEX_NONE) {
		*ret_frame = id;
		return 0;
	}
	r = hash_index_reserve(&copies->by_name);
	if (r == 0)
		r = append(copies->frames, &frame, &id);
	if (r < 0)
		return r;
	hash_index_insert(&copies->by_name, hash, id);
	*ret_frame = id;
	return 0;
}

static bool is_copied(const struct frame_copies *copies, uint32_t frame, uint32_t name)
{
	const struct latest_copy *latest = (struct latest_copy *)copies->latest.items + frame;

	return latest->frame != 0 && latest->name == name;
}

/*
 * Collects the path from `frame` outwards to the first frame that has a copy, and returns that
 * copy; 0: none has.
 */
static int find_path(struct frame_copies *copies, uint32_t frame, uint32_t root, uint32_t name,
	uint32_t *ret_copied)
{
	const struct pilotlight_symbol_frame *frames = copies->frames->items;
	int r;

	copies->path.count = 0;
	while (!is_copied(copies, frame, name)) {
		r = scratch_array_grow(&copies->path);
		if (r < 0)
			return r;
		((uint32_t *)copies->path.items)[copies->path.count++] = frame;
		if (frame == root) {
			*ret_copied = 0;
			return 0;
		}
		frame = frames[frame].parent;
	}
	*ret_copied = ((struct latest_copy *)copies->latest.items)[frame].frame;
	return 0;
}

/* Copies the path below `parent`, from its end to its beginning. */
static int copy_path(
	struct frame_copies *copies, uint32_t parent, uint32_t name, uint32_t *ret_frame)
{
	const uint32_t *path = copies->path.items;
	struct latest_copy *latest = copies->latest.items;
	int r;

	for (size_t i = copies->path.count; i-- > 0;) {
		const struct pilotlight_symbol_frame *frames = copies->frames->items;
		struct pilotlight_symbol_frame frame = frames[path[i]];

		if (parent == 0)
			frame.name = name;
		frame.parent = parent;
		r = append(copies->frames, &frame, &parent);
		if (r < 0)
			return r;
		latest[path[i]] = (struct latest_copy){ .frame = parent, .name = name };
	}
	copies->copied += copies->path.count;
	*ret_frame = parent;
	return 0;
}

static void refuse(struct frame_copies *copies)
{
	/* Refuses all later copies too, so that no path is followed in vain again. */
	copies->copied_max = 0;
	copies->refused += copies->refused < UINT32_MAX;
}

int frame_copies_rename(struct frame_copies *copies, uint32_t frame, uint32_t root, uint32_t name,
	uint32_t *ret_frame)
{
	const struct pilotlight_symbol_frame *frames = copies->frames->items;
	uint32_t copied = 0;
	int r;

	*ret_frame = frame;
	if (frames[root].name == name)
		return 0;
	if (copies->copied >= copies->copied_max) {
		refuse(copies);
		return 0;
	}
	r = find_path(copies, frame, root, name, &copied);
	if (r < 0)
		return r;
	if (copies->path.count > copies->copied_max - copies->copied) {
		refuse(copies);
		return 0;
	}
	return copy_path(copies, copied, name, ret_frame);
}
