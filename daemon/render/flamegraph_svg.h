/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A flame graph as one SVG file that needs nothing else: a still picture wherever SVG is shown, and
 * in a browser one that fits the window, zooms, searches and is worked with mouse or keyboard. The
 * same profile and options give the same bytes.
 *
 * Frames narrower than a fraction of a pixel are not drawn one by one: those of one parent become
 * one grey frame that says how many they are and for how many samples they stand, and the footer
 * gives the sum. So the file grows with what can be seen, not with the profile.
 *
 * A frame tells its line of the source. One that merges several lines tells the one with the most
 * samples, callees included, how many there are, and that line's part of the frame.
 */
#pragma once

#include "aggregate/profile.h"
#include "base/output.h"

struct flamegraph_svg_options {
	const char *title;	 /* NULL: "Flame graph"; any bytes will do */
	unsigned width_px;	 /* 0: 1200; else it is kept between 400 and 20000 */
	unsigned min_hundredths; /* of a pixel, the narrowest frame that is drawn; 0: 30 */
	bool inverted;		 /* the root on top */
	bool by_line;		 /* each line of a function is a frame of its own */
};

/* Returns 0, -ENOMEM or -E2BIG; errors of the output are output_finish()'s to report. */
int flamegraph_svg_write(const struct profile *profile,
	const struct flamegraph_svg_options *options, struct output *output);
