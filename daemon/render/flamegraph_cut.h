/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Chooses the frames of a tree that the still picture draws: those that are wide enough to see, in
 * the rows that hold enough, as many as a viewer can bear. The drawn frames have only drawn
 * ancestors. The script shows the others when they are zoomed to, and its search counts them.
 */
#pragma once

#include "render/frame_tree.h"

struct flamegraph_cut {
	uint64_t minimum; /* smaller frames are not drawn */
	uint32_t depth;	  /* deeper ones neither */
	/* Frames of the tree that are not drawn though their parent is, and their samples. */
	size_t narrow_count;
	uint64_t narrow;
};

/*
 * `minimum`: frames with fewer samples are too narrow to see; `row_minimum`: so are rows with fewer
 * samples in all. Returns 0 or -ENOMEM.
 */
int flamegraph_cut_init(struct flamegraph_cut *ret_cut, const struct frame_tree *tree,
	uint64_t minimum, uint64_t row_minimum);

bool flamegraph_cut_draws(const struct flamegraph_cut *cut, const struct frame *frame);
