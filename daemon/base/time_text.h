/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Times and durations as people write them: systemd.time(7) is the reference. "10min", "1h 30min",
 * "2d", "500ms"; "now", "today", "yesterday", "tomorrow", "2026-11-20 03:12", "2026-11-20",
 * "03:12:30", "Fri 2026-11-20 03:12:30.5", "@1763608320", "-10min", "10min ago", "10min left"; with
 * "UTC", "Z", a numeric offset ("+01:00") or the name of the local zone behind, else of the local
 * time zone. Beyond it: "yesterday 18:00", and "T" between date and time. Not here: the names of
 * other zones, "infinity", and days that the calendar does not have.
 */
#pragma once

#include "base/fault.h"

#include <stdint.h>

/*
 * A number without a unit is of seconds; a month has 30.44 days and a year 365.25. Fractions below
 * a nanosecond are left out. Returns 0, or -EINVAL with a fault that names the text and shows how
 * it could be written.
 */
int time_text_parse_duration(const char *text, uint64_t *ret_ns, struct fault *fault);

/*
 * `now_ns` and the result are CLOCK_REALTIME, ns since 1970. A time of day alone is of the day of
 * `now_ns`. Where the clock is put forward or back, a time that does not exist or is there twice is
 * the one that mktime(3) takes. Returns as the above.
 */
int time_text_parse(
	const char *text, uint64_t now_ns, uint64_t *ret_realtime_ns, struct fault *fault);

enum { TIME_TEXT_BYTES = 64 };

/* "2026-11-20 03:12:05", local time, in `text`, which is returned. */
const char *time_text_format(uint64_t realtime_ns, char text[TIME_TEXT_BYTES]);

/*
 * "1h 30min", "10s", "250ms": the greatest unit, and the next below it unless that is 0. Rounded
 * down; days are the greatest.
 */
const char *time_text_format_duration(uint64_t ns, char text[TIME_TEXT_BYTES]);
