/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tree of names of one side of a difference, each frame with what the other side has of it: of
 * the frame with the same label below the same ancestors. A nameless frame is known by its binary's
 * base name and its address.
 *
 * The drawn side is held as a tree, without what is too small to be drawn; the other is only walked
 * past it, as a whole, so that a frame that is small there is still found. Both come in the order
 * of their labels, so that takes one step a frame. Owned by whoever called frame_difference_new();
 * the profiles must outlive it.
 */
#pragma once

#include "query/profile_difference.h"
#include "render/frame_tree.h"

/* By side, in samples of that side. */
struct frame_change {
	uint64_t total[DIFFERENCE_SIDE_COUNT];
	uint64_t self[DIFFERENCE_SIDE_COUNT];
};

struct frame_difference {
	struct frame_tree *tree;      /* of the drawn side */
	struct frame_change *changes; /* parallel to tree->frames */
	uint64_t undrawn; /* samples of the other side that end in no frame of the tree */
};

/* `minimum` is that of the tree, in samples of the drawn side. Returns 0, -ENOMEM or -E2BIG. */
int frame_difference_new(const struct profile_difference *difference, enum difference_side drawn,
	enum frame_detail detail, uint64_t minimum, struct frame_difference **ret_frames);
void frame_difference_free(struct frame_difference *frames);
DEFINE_CLEANUP(struct frame_difference, frame_difference_free);
