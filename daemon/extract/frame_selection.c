/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/frame_selection.h"

#include "base/cleanup.h"
#include "pilotlight/symbol_file.h"

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

int frame_selection_run(
	struct scratch *scratch, struct scratch_array *frames, struct scratch_array *boundaries)
{
	_cleanup_(scratch_array_done) struct scratch_array ids = { 0 };
	struct pilotlight_symbol_boundary *all = boundaries->items;
	int r;

	r = scratch_array_init(&ids, scratch, sizeof(uint32_t), frames->count);
	if (r == 0)
		r = scratch_array_reserve(&ids, frames->count);
	if (r < 0)
		return r;
	mark(ids.items, frames, all, boundaries->count);
	move(ids.items, frames);
	for (size_t i = 0; i < boundaries->count; i++)
		all[i].frame = ((uint32_t *)ids.items)[all[i].frame];
	return 0;
}
