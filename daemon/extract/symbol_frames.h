/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The section FRAMES: functions, inlined calls, and code that only a symbol names. Where symbols
 * give the outermost frame of a function another name, its frames are copied. The last copy of each
 * frame is remembered, so the code of one symbol shares one copy. There are at most about two
 * copies for each frame; beyond that bound, symbols do not rename frames (I4). All memory is
 * scratch, except the index by name.
 */
#pragma once

#include "base/hash_index.h"
#include "base/scratch.h"
#include "pilotlight/symbol_file.h"

#include <stdint.h>

struct symbol_frames {
	struct scratch_array frames; /* of struct pilotlight_symbol_frame; [0] unused */
	struct scratch_array latest; /* by frame: its last copy, and the name of that copy */
	struct scratch_array path;   /* of uint32_t: frames from the innermost outwards */
	struct hash_index by_name;   /* frames that only a symbol names */
	size_t copied, copied_max;
	uint32_t refused; /* copies beyond the bound */
};

/* Functions return 0, -ENOMEM or the scratch's errors. After an error, call done(). */
int symbol_frames_init(struct symbol_frames *frames, struct scratch *scratch);
void symbol_frames_done(struct symbol_frames *frames);

/* Adds the frame of a function or of an inlined call. */
int symbol_frames_add(struct symbol_frames *frames, const struct pilotlight_symbol_frame *frame,
	uint32_t *ret_frame);

/* Begins to lay symbols over the frames; called once, after all functions. */
int symbol_frames_begin_symbols(struct symbol_frames *frames, struct scratch *scratch);

/* Finds or adds the frame of code that is in no function and in a symbol of this name. */
int symbol_frames_find_symbol(struct symbol_frames *frames, uint32_t name, uint32_t *ret_frame);

/*
 * Returns a copy of `frame` whose outermost frame, `root`, has the name `name`, which is not 0.
 * Returns `frame` itself if it has that name or the bound is reached.
 */
int symbol_frames_rename(struct symbol_frames *frames, uint32_t frame, uint32_t root, uint32_t name,
	uint32_t *ret_frame);

/*
 * Removes the frames that contain no code, once, at the end: keeps those that `boundaries` (struct
 * pilotlight_symbol_boundary) name, and their callers, in order. Updates the boundaries. Time is
 * linear.
 */
int symbol_frames_remove_unused(
	struct symbol_frames *frames, struct scratch *scratch, struct scratch_array *boundaries);
