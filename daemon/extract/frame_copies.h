/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Frames that no function was told with: those of code that only a symbol names, one for each name;
 * and copies of a function's frames where its outermost one has another name for the linker. What
 * was copied last of each frame is remembered, so that the code under one symbol is one copy of the
 * frames that it needs. Copies are bounded by the frames there are: of a hostile file's symbols
 * those beyond it are not believed. But for the index by name all memory is scratch.
 */
#pragma once

#include "base/hash_index.h"
#include "base/scratch.h"

#include <stdbool.h>
#include <stdint.h>

struct frame_copies {
	struct scratch_array *frames; /* borrowed; of struct pilotlight_symbol_frame */
	struct scratch_array latest;  /* by frame: its last copy, and for which name */
	struct scratch_array path;    /* of uint32_t: frames from the innermost one outwards */
	struct hash_index by_name;    /* of frames that only a symbol names */
	size_t copied, copied_max;
	uint32_t refused;
};

/* `frames` has all functions. Returns 0 or the scratch's errors. */
int frame_copies_init(
	struct frame_copies *copies, struct scratch *scratch, struct scratch_array *frames);
void frame_copies_done(struct frame_copies *copies);

/* The frame without callers of this name. Returns 0, -ENOMEM or the scratch's errors. */
int frame_copies_add(struct frame_copies *copies, uint32_t name, uint32_t *ret_frame);

/*
 * As `frame`, but that its outermost frame, `root`, has the name `name`, which is not 0. The frame
 * itself where it has that name, or where the bound is reached. Errors of the scratch.
 */
int frame_copies_rename(struct frame_copies *copies, uint32_t frame, uint32_t root, uint32_t name,
	uint32_t *ret_frame);
