/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "render/difference_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { HUNDREDTH_POINT = DIFFERENCE_SHARE_ONE / 10000 };

const char *difference_whole_text(const struct profile_difference *difference)
{
	if (difference->whole == DIFFERENCE_BY_TOTAL)
		return "all samples of each profile, stored and lost";
	if (!profile_difference_is_time(difference))
		return "all of the base, in the same time";
	return profile_difference_is_cpu(difference) ? "the time of all CPUs"
						     : "the time recorded, of one thread";
}

/* Hundredths of a per cent, rounded to the nearest. */
static uint64_t hundredths_of(int64_t share)
{
	return ((uint64_t)llabs(share) + HUNDREDTH_POINT / 2) / HUNDREDTH_POINT;
}

const char *difference_share(int64_t share, char text[DIFFERENCE_TEXT_BYTES])
{
	uint64_t hundredths = hundredths_of(share);

	(void)snprintf(text, DIFFERENCE_TEXT_BYTES, "%" PRIu64 ".%02" PRIu64, hundredths / 100,
		hundredths % 100);
	return text;
}

const char *difference_points(int64_t change, char text[DIFFERENCE_TEXT_BYTES])
{
	uint64_t hundredths = hundredths_of(change);
	const char *sign = change < 0 ? "-" : "+";

	(void)snprintf(text, DIFFERENCE_TEXT_BYTES, "%s%" PRIu64 ".%02" PRIu64,
		hundredths ? sign : "", hundredths / 100, hundredths % 100);
	return text;
}

const char *difference_ratio(int64_t base, int64_t compared, char text[DIFFERENCE_TEXT_BYTES])
{
	const char *sign = compared < base ? "-" : "+";
	unsigned __int128 tenths;

	if (base <= 0 || compared <= 0) {
		(void)snprintf(text, DIFFERENCE_TEXT_BYTES, "%s",
			base > 0       ? "gone"
			: compared > 0 ? "new"
				       : "none");
		return text;
	}
	tenths = ((unsigned __int128)llabs(compared - base) * 1000 + (uint64_t)base / 2) /
		 (uint64_t)base;
	if (tenths > UINT32_MAX)
		tenths = UINT32_MAX;
	(void)snprintf(text, DIFFERENCE_TEXT_BYTES, "%s%u.%u %%", tenths ? sign : "",
		(unsigned)(tenths / 10), (unsigned)(tenths % 10));
	return text;
}
