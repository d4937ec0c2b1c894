/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A differential flame graph: the frames of both profiles, coloured by the change of their share
 * from the base to the compared profile. Red with a '+' is more, blue with a '-' is less. A frame
 * has a colour only if its change exceeds the error of sampling (profile_difference_is_certain()).
 * The colour is stronger the closer a change is to the greatest change. A change of less than a
 * hundredth of all never gets a strong colour. Otherwise the picture is that of flamegraph_svg.h.
 *
 * A frame is as wide as the mean of its shares in both profiles, so that what vanished is there,
 * too, half as wide as it was.
 */
#pragma once

#include "base/output.h"
#include "query/profile_difference.h"
#include "render/frame_labels.h"

/* Its style, beyond flamegraph.css. */
extern const char difference_svg_css[];

/*
 * `names` are those of the profiles, and may hold any bytes. By line, a line that has moved is new.
 * Returns 0, -ENOMEM or -E2BIG; errors of the output are output_finish()'s to report.
 */
int difference_svg_write(const struct profile_difference *difference,
	const char *const names[DIFFERENCE_SIDE_COUNT], enum frame_detail detail,
	struct output *output);
