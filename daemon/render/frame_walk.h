/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Visits a profile as people see it: the tree of names. Below the root stand the threads' comms,
 * below each of them its stacks, root first; frames of one label below one parent are one, whatever
 * their addresses; inlined frames are frames. Losses stand below the root as synthetic frames, idle
 * time and what was filtered out do not (I1). Siblings come in the order of their labels, so that
 * the same profile gives the same visits in whatever order it was filled.
 *
 * The tree is never held as a whole. The stacks below a frame that is being visited are merged
 * level by level, by one sort of the children of all stack nodes that make up the frame; what falls
 * short of the minimum is not looked into any further. Memory: 24 bytes a node of the profile and
 * the children of one path.
 */
#pragma once

#include "render/frame_labels.h"
#include "render/frame_places.h"

struct frame {
	uint32_t label;
	uint32_t depth;	 /* 0: the root; 1: comms and losses */
	uint32_t binary; /* of the profile; of several, the first by (path, build-id); FRAME_NONE */
	uint64_t self;	 /* samples that end here */
	uint64_t total;	 /* self, all children, and what was elided */
	uint64_t elided; /* samples in children that fall short of the minimum */
	size_t elided_count; /* how many such children there are, not counting what stands on them
			      */
	/* Where in the source its samples are: of several places the one with the most. */
	uint32_t place;	      /* of the places; FRAME_NONE: not known, or not asked for */
	uint32_t place_count; /* how many there are */
	uint64_t place_total; /* samples of `total` that are in `place` */
};

/* Called in pre-order. Anything but 0 ends the walk. */
typedef int (*frame_visit)(void *context, const struct frame *frame);

/*
 * `minimum`: frames with a smaller total are elided and not visited; 0 and 1 elide nothing.
 * `places` may be NULL, and frames then have none.
 * Returns 0, -ENOMEM, -E2BIG, or what `visit` returned.
 */
int frame_walk(const struct profile *profile, const struct frame_labels *labels,
	const struct frame_places *places, uint64_t minimum, frame_visit visit, void *context);
