/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Visits a profile as a tree of names. The children of the root are the comms of the threads; below
 * each comm are its stacks, root first. Frames with the same label and parent are merged, whatever
 * their addresses. Inlined frames are frames. Losses are synthetic frames below the root; idle and
 * filtered samples are left out (I1). Siblings are visited in the order of their labels, so the
 * same profile gives the same visits, however it was filled.
 *
 * The tree is never in memory as a whole. The stacks below a frame are merged level by level, by
 * one sort of the children of all stack nodes that make up the frame. Frames below the minimum are
 * not descended into. Memory: 24 bytes a node of the profile and the children of one path.
 */
#pragma once

#include "render/frame_labels.h"
#include "render/frame_path.h"
#include "render/frame_places.h"

struct frame {
	uint32_t label;
	uint32_t depth;	 /* 0: the root; 1: comms and losses */
	uint32_t binary; /* of the profile; of several, the first by (path, build-id); FRAME_NONE */
	uint64_t self;	 /* samples that end here */
	uint64_t total;	 /* self, all children and elided frames */
	uint64_t elided; /* samples in children below the minimum */
	size_t elided_count; /* the number of such children, without their descendants */
	/* The source line of its samples; of several, the one with the most. */
	uint32_t place;	      /* of the places; FRAME_NONE: not known, or not asked for */
	uint32_t place_count; /* how many there are */
	uint64_t place_total; /* samples of `total` that are in `place` */
};

/* Called in pre-order. Anything but 0 ends the walk. */
typedef int (*frame_visit)(void *context, const struct frame *frame);

/* A frame, by its path, whose descendants have a minimum of their own. Its ancestors are not
 * elided. */
struct frame_focus {
	struct frame_path path;
	uint64_t minimum;
	bool is_found; /* set when it is visited */
};

/*
 * `minimum`: frames with a smaller total are elided and not visited; 0 and 1 elide nothing.
 * `places` may be NULL, and frames then have none; so may `focus`.
 * Returns 0, -ENOMEM, -E2BIG, or what `visit` returned.
 */
int frame_walk(const struct profile *profile, const struct frame_labels *labels,
	const struct frame_places *places, uint64_t minimum, struct frame_focus *focus,
	frame_visit visit, void *context);
