/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Formats shares and their changes, the same in all renderers of a difference. Each function fills
 * the caller's buffer, whose size is given here, and returns it.
 */
#pragma once

#include "query/profile_difference.h"

enum { DIFFERENCE_TEXT_BYTES = 32 };

/* What shares are of: "all samples of each profile, stored and lost". */
const char *difference_whole_text(const struct profile_difference *difference);

/* "12.34": per cent of the whole. */
const char *difference_share(int64_t share, char text[DIFFERENCE_TEXT_BYTES]);

/* "+2.66", "-0.50" percentage points; "0.00", without a sign, for changes that round to it. */
const char *difference_points(int64_t change, char text[DIFFERENCE_TEXT_BYTES]);

/*
 * The change in per cent of the base's share: "+21.6 %"; "new" or "gone" if only one side has a
 * share, "none" if neither has.
 */
const char *difference_ratio(int64_t base, int64_t compared, char text[DIFFERENCE_TEXT_BYTES]);
