/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tree of names (frame_walk.h) as an array in pre-order, with its labels and places, for
 * renderers that need its size before they write. Read-only; the caller of frame_tree_new() owns it
 * and the profile must outlive it.
 */
#pragma once

#include "render/frame_walk.h"

struct frame_tree {
	struct frame_labels *labels;
	struct frame_places *places;
	struct frame *frames; /* frames[0] is the root */
	size_t count, capacity;
	uint32_t depth;	     /* the greatest of any frame */
	uint64_t elided;     /* samples in all elided frames */
	size_t elided_count; /* frames that were too small, not counting their descendants */
	uint64_t minimum;    /* smaller frames are elided */
};

/* What a tree may hold: frames, and bytes of the distinct labels of its frames. */
struct frame_budget {
	size_t frames, label_bytes;
	/* A valid text of frame_path.h, or NULL. If frames have to be elided, half of the budget
	 * is for the others, and what they leave for those below this frame, if there is one. */
	const char *below;
};

/*
 * `minimum`: frames with a smaller total are elided (0: none). This bounds the tree to total /
 * minimum frames at each depth. Returns 0, -ENOMEM or -E2BIG.
 */
int frame_tree_new(const struct profile *profile, enum frame_detail detail, uint64_t minimum,
	struct frame_tree **ret_tree);

/*
 * A tree within the budget, with as few elided frames as powers of two for the minimum allow. The
 * root has room in any budget.
 */
int frame_tree_new_within(const struct profile *profile, enum frame_detail detail,
	const struct frame_budget *budget, struct frame_tree **ret_tree);
void frame_tree_free(struct frame_tree *tree);
DEFINE_CLEANUP(struct frame_tree, frame_tree_free);
