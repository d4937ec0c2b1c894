/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The trees of names of both sides of a difference as one: each frame carries its samples of both
 * sides. Frames are the same if their labels and all their ancestors' are. A frame without a name
 * is identified by its binary's base name and its address.
 *
 * The totals of the common tree are weights: a side's samples times a factor that gives both
 * sides' wholes the same weight. A frame is so as wide as the mean of its shares, one that vanished
 * half as wide as it was, and the widths of a frame's callees add up to no more than its own. Both
 * trees are in the order of their labels, so one pass merges them. The caller of
 * frame_difference_new() owns the result; the profiles must outlive it.
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
	/* Its places are those of the compared side; of the base alone, a frame has none. */
	struct frame_tree *tree;
	struct frame_change *changes; /* parallel to tree->frames */
	struct frame_tree *sides[DIFFERENCE_SIDE_COUNT];
};

/* `budget` is that of each side. Returns 0, -ENOMEM or -E2BIG. */
int frame_difference_new(const struct profile_difference *difference, enum frame_detail detail,
	const struct frame_budget *budget, struct frame_difference **ret_frames);
void frame_difference_free(struct frame_difference *frames);
DEFINE_CLEANUP(struct frame_difference, frame_difference_free);
