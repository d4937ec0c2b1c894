/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Makes frames for code that only a symbol names, one for each name. Also copies the frames of a
 * function whose outermost frame has another name in the symbols. The last copy of each frame is
 * remembered, so the code of one symbol shares one copy. There are at most as many copies as
 * frames; beyond that bound, symbols do not rename frames (I4). All memory is scratch, except the
 * index by name.
 */
#pragma once

#include "base/hash_index.h"
#include "base/scratch.h"

#include <stdbool.h>
#include <stdint.h>

struct frame_copies {
	struct scratch_array *frames; /* borrowed; of struct pilotlight_symbol_frame */
	struct scratch_array latest;  /* by frame: its last copy, and the name of that copy */
	struct scratch_array path;    /* of uint32_t: frames from the innermost outwards */
	struct hash_index by_name;    /* frames that only a symbol names */
	size_t copied, copied_max;
	uint32_t refused;
};

/* `frames` holds all functions. Returns 0 or the scratch's errors. */
int frame_copies_init(
	struct frame_copies *copies, struct scratch *scratch, struct scratch_array *frames);
void frame_copies_done(struct frame_copies *copies);

/* Returns the frame of this name that has no caller. Returns 0, -ENOMEM or the scratch's errors. */
int frame_copies_add(struct frame_copies *copies, uint32_t name, uint32_t *ret_frame);

/*
 * Returns a copy of `frame` whose outermost frame, `root`, has the name `name`, which is not 0.
 * Returns `frame` itself if it has that name or the bound is reached. Errors of the scratch.
 */
int frame_copies_rename(struct frame_copies *copies, uint32_t frame, uint32_t root, uint32_t name,
	uint32_t *ret_frame);
