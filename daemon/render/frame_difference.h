/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tree of names of the compared side of a difference. Each frame carries the samples of its
 * counterpart on the base side: the frame with the same label below the same ancestors. A frame
 * without a name is identified by its binary's base name and its address.
 *
 * The compared side is a tree in memory, without frames that are too small to draw. The base side
 * is walked completely, so that frames that are small there are found. Both are in the order of
 * their labels, so matching takes one step a frame. The caller of frame_difference_new() owns the
 * result; the profiles must outlive it.
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
	struct frame_tree *tree;      /* of the compared side */
	struct frame_change *changes; /* parallel to tree->frames */
	uint64_t undrawn;	      /* samples of the base that end in no frame of the tree */
};

/* `minimum` is that of the tree, in samples of the compared side. Returns 0, -ENOMEM or -E2BIG. */
int frame_difference_new(const struct profile_difference *difference, enum frame_detail detail,
	uint64_t minimum, struct frame_difference **ret_frames);
void frame_difference_free(struct frame_difference *frames);
DEFINE_CLEANUP(struct frame_difference, frame_difference_free);
