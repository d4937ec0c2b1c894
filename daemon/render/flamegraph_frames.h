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

/*
 * How the frames of a picture look that is not of kinds: `frame` is a position in the tree. Strings
 * that are returned are borrowed until the next call.
 */
struct flamegraph_style {
	const void *context;
	/* The rectangle's class: a letter, none of the kinds' nor 'e', and a digit. */
	const char *(*class_of)(const void *context, size_t frame);
	/* What stands in front of the label's name. */
	const char *(*mark_of)(const void *context, size_t frame);
	/* More attributes: ` data-x="1"`. */
	void (*write_data)(const void *context, size_t frame, struct output *output);
	/* The lines of the tooltip that tell the samples, without a line break at the end. */
	void (*write_samples)(const void *context, size_t frame, struct output *output);
};

enum { FLAMEGRAPH_MARK_BYTES = 8 }; /* the longest mark, with its NUL */

/* The least total that is wide enough to be drawn among `samples`. */
uint64_t flamegraph_minimum(const struct flamegraph_geometry *geometry, uint64_t samples);

/* `style` NULL: by kind. Returns 0 or -ENOMEM. */
int flamegraph_frames_write(const struct profile *profile, const struct frame_tree *tree,
	const struct flamegraph_geometry *geometry, const struct flamegraph_style *style,
	struct output *output);
