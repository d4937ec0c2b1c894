/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The frames of a flame graph as SVG elements: a rectangle each, in pre-order, with its name, place
 * in the source and samples as a tooltip, then the labels of those that have room for one. The
 * script reads the samples from data-n (total) and data-s (self, where there are any), the binary
 * from data-b (its position in the list of binaries), the place from data-l ("FILE:LINE" with the
 * file's position in the list of files; of several places the one with the most samples, and then
 * "FILE:LINE:PLACES:SAMPLES"), and the depth from y.
 */
#pragma once

#include "base/output.h"
#include "render/frame_tree.h"

enum {
	FLAMEGRAPH_MARGIN_PX = 16,
	FLAMEGRAPH_ROW_PX = 18,
	FLAMEGRAPH_FRAME_PX = 17,
	FLAMEGRAPH_SHADES = 4, /* of each kind's colour, chosen by the name */
};

struct flamegraph_geometry {
	unsigned width_px;
	unsigned min_hundredths; /* of a pixel */
	uint64_t top_px;	 /* of the uppermost row */
	uint64_t rows;
	bool inverted;
};

/* The least total that is wide enough to be drawn among `samples`. */
uint64_t flamegraph_minimum(const struct flamegraph_geometry *geometry, uint64_t samples);

/* Rows that the tree takes, with those of elided frames. */
uint64_t flamegraph_rows(const struct flamegraph_geometry *geometry, const struct frame_tree *tree);

/* Returns 0 or -ENOMEM. */
int flamegraph_frames_write(const struct profile *profile, const struct frame_tree *tree,
	const struct flamegraph_geometry *geometry, struct output *output);
