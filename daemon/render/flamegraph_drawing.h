/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the writers of a flame graph's frames share: the drawing, and its lists of referred ids. */
#pragma once

#include "render/flamegraph_frames.h"

/* A list of ids that frames refer to by position, in the order of their first use. */
struct flamegraph_listing {
	uint32_t *positions; /* by id; FRAME_NONE: not in it */
	size_t id_count;
	uint32_t count;
};

int flamegraph_listing_init(struct flamegraph_listing *listing, size_t id_count);
uint32_t flamegraph_listing_position(struct flamegraph_listing *listing, uint32_t id);

/* The ids by position; free(). NULL: no memory. */
uint32_t *flamegraph_listing_ids(const struct flamegraph_listing *listing);

/* Children that a frame's grey frame stands for. */
struct flamegraph_undrawn {
	uint64_t total;
	size_t count;
};

struct flamegraph_drawing {
	const struct profile *profile;
	const struct frame_tree *tree;
	const struct flamegraph_cut *cut;
	const struct flamegraph_style *style; /* NULL: by kind */
	struct output *output;
	uint64_t samples;
	uint64_t *next_offsets;		    /* by depth: where the next frame begins */
	struct flamegraph_undrawn *undrawn; /* by frame: its children that are not drawn */
	struct flamegraph_listing binaries,
		files; /* of the profile's binaries, and of its strings */
};

/* The class of the frame's rectangle: a kind, or what the style says, and a digit. */
void flamegraph_frame_class(const struct flamegraph_drawing *drawing, const struct frame *frame,
	char class[FLAMEGRAPH_CLASS_BYTES]);
