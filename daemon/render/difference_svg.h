/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A differential flame graph: the frames of one profile, coloured by the change of their share from
 * the base to the compared profile. Red with a '+' is more, blue with a '-' is less. The colour is
 * stronger the closer a change is to the greatest change. A change of less than a hundredth of all
 * never gets a strong colour. Otherwise the picture is that of flamegraph_svg.h.
 *
 * Frames are as wide as in the compared profile, so frames that exist in the base only are missing.
 * Drawn as wide as in the base, new frames are missing instead. The last line says how much of the
 * other side is missing.
 */
#pragma once

#include "base/output.h"
#include "query/profile_difference.h"

struct difference_svg_options {
	const char *title; /* NULL: "Differential flame graph"; any bytes will do */
	/* Of the profiles; NULL: "base" and "compared"; any bytes will do. */
	const char *names[DIFFERENCE_SIDE_COUNT];
	unsigned width_px;	 /* 0: 1200; else it is kept between 400 and 20000 */
	unsigned min_hundredths; /* of a pixel, the narrowest frame that is drawn; 0: 30 */
	bool base_widths;
	bool inverted; /* the root on top */
	bool by_line;  /* each line of a function is a frame, new where it has moved */
};

/* Its style, beyond flamegraph.css. */
extern const char difference_svg_css[];

/* Returns 0, -ENOMEM or -E2BIG; errors of the output are output_finish()'s to report. */
int difference_svg_write(const struct profile_difference *difference,
	const struct difference_svg_options *options, struct output *output);
