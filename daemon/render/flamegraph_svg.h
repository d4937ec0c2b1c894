/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes a flame graph as one self-contained SVG file. Any viewer shows it as a still picture. In a
 * browser it fits the window, zooms and searches, by mouse or keyboard. The same profile gives
 * the same bytes.
 *
 * The still picture omits frames narrower than a fraction of a pixel, and rows that hold next to
 * nothing: those of one parent become one grey frame that gives their number and samples. The file
 * has them nevertheless, so the script shows them when they are zoomed to, and its search counts
 * them. What exceeds a budget of frames and bytes is left out, the smallest first, and the footer
 * says so. The size of the file is bounded whatever the profile.
 *
 * A frame shows its source line. A frame that merges several lines shows the line with the most
 * samples, callees included, the number of lines, and that line's part of the frame.
 */
#pragma once

#include "base/output.h"
#include "render/frame_labels.h"

/*
 * `title` may hold any bytes; NULL: "Flame graph". Returns 0, -ENOMEM or -E2BIG; errors of the
 * output are output_finish()'s to report.
 */
int flamegraph_svg_write(const struct profile *profile, const char *title, enum frame_detail detail,
	struct output *output);
