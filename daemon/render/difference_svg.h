/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A differential flame graph: one profile's frames, coloured by how their share has changed from
 * the base to the compared; red with a '+' is more, blue with a '-' is less, and the stronger the
 * colour, the greater the change beside the greatest there is. A change of less than a hundredth of
 * all never gets a strong colour. Otherwise it is what flamegraph_svg.h tells of.
 *
 * The frames are as wide as in the compared profile, which therefore lacks what has vanished from
 * it; drawn as wide as in the base, that is seen, and what is new is not. The last line tells how
 * much of the other side is not seen.
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

/* Returns 0, -ENOMEM or -E2BIG; errors of the output are output_finish()'s to report. */
int difference_svg_write(const struct profile_difference *difference,
	const struct difference_svg_options *options, struct output *output);
