/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes the frames of a flame graph as SVG elements. Each frame is a rectangle, in pre-order,
 * whose tooltip gives the name, source line and samples. The labels of frames that are wide enough
 * follow. The script reads these attributes:
 *
 * data-n: total samples; data-s: self samples, if any; data-b: position in the list of binaries;
 * data-l: "FILE:LINE", FILE being a position in the list of files, or, if there are several places,
 * "FILE:LINE:PLACES:SAMPLES" of the one with the most samples; y: the depth.
 */
#pragma once

#include "base/output.h"
#include "render/flamegraph_cut.h"

enum {
	FLAMEGRAPH_WIDTH_PX = 1200,
	FLAMEGRAPH_MARGIN_PX = 16,
	FLAMEGRAPH_HEAD_PX = 96, /* above the uppermost row */
	FLAMEGRAPH_ROW_PX = 18,
	FLAMEGRAPH_FRAME_PX = 17,
	FLAMEGRAPH_SHADES = 4, /* shades of each kind's colour; the name selects one */
};

/*
 * How frames look in a picture that is not coloured by kind, and whose totals are weights instead
 * of samples. `frame` is a position in the tree. Returned strings are borrowed until the next call.
 */
struct flamegraph_style {
	const void *context;
	/* The rectangle's class: a letter other than 'e' and those of the kinds, and a digit. */
	const char *(*class_of)(const void *context, size_t frame);
	/* The prefix of the label's name. */
	const char *(*mark_of)(const void *context, size_t frame);
	/* More attributes: ` data-x="1"`. */
	void (*write_data)(const void *context, size_t frame, struct output *output);
	/* Four numbers for a frame that is not drawn, each after a comma; SIZE_MAX: for what was
	 * left out of the file. */
	void (*write_narrow)(const void *context, size_t frame, struct output *output);
	/* Writes the tooltip's lines about samples, without a line break at the end. */
	void (*write_samples)(const void *context, size_t frame, struct output *output);
};

enum {
	FLAMEGRAPH_MARK_BYTES = 8,  /* the longest mark, with its NUL */
	FLAMEGRAPH_CLASS_BYTES = 4, /* the longest class, with its NUL */
};

/*
 * The frames that a file may hold. One that is not drawn is some 12 bytes in the file, without its
 * label, and some 200 bytes in a browser.
 */
extern const struct frame_budget flamegraph_budget;

/* The smallest total that is wide enough to be drawn in a picture of `samples`. */
uint64_t flamegraph_minimum(uint64_t samples);

/* The smallest sum of a row's frames that makes the picture a row higher. */
uint64_t flamegraph_row_minimum(uint64_t samples);

/* The bottom of the lowest row, where the root is. */
uint64_t flamegraph_frames_end_px(const struct frame_tree *tree, const struct flamegraph_cut *cut);

/* `style` NULL: coloured by kind. Returns 0 or -ENOMEM. */
int flamegraph_frames_write(const struct profile *profile, const struct frame_tree *tree,
	const struct flamegraph_cut *cut, const struct flamegraph_style *style,
	struct output *output);
