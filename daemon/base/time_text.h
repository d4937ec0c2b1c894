/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parses and formats times and durations in the syntax of systemd.time(7). Durations: "10min", "1h
 * 30min", "2d", "500ms". Times: "now", "today", "yesterday", "tomorrow", "2026-11-20 03:12",
 * "2026-11-20", "03:12:30", "Fri 2026-11-20 03:12:30.5", "@1763608320", "-10min", "10min ago",
 * "10min left".
 *
 * A time may end with "UTC", "Z", a numeric offset ("+01:00") or the name of the local zone. The
 * default is the local time zone. Extensions: "yesterday 18:00", and "T" between date and time. Not
 * supported: names of other zones, "infinity", and dates that the calendar lacks.
 */
#pragma once

#include "base/fault.h"

#include <stdint.h>

/*
 * Parses a duration. A number without a unit means seconds; a month has 30.44 days and a year
 * 365.25. Fractions of a nanosecond are dropped. Returns 0, or -EINVAL with a fault that quotes the
 * text and shows a valid form.
 */
int time_text_parse_duration(const char *text, uint64_t *ret_ns, struct fault *fault);

/*
 * Parses a time. `now_ns` and the result are CLOCK_REALTIME, ns since 1970. A time of day alone
 * means the day of `now_ns`. When a clock change skips or repeats a time, mktime(3) decides.
 * Returns as time_text_parse_duration() does.
 */
int time_text_parse(
	const char *text, uint64_t now_ns, uint64_t *ret_realtime_ns, struct fault *fault);

enum { TIME_TEXT_BYTES = 64 };

/* Formats local time as "2026-11-20 03:12:05" into `text` and returns it. */
const char *time_text_format(uint64_t realtime_ns, char text[TIME_TEXT_BYTES]);

/*
 * Formats a duration as "1h 30min", "10s" or "250ms": the largest unit, and the next smaller one
 * unless that is 0. Rounded down; days are the largest unit. Returns `text`.
 */
const char *time_text_format_duration(uint64_t ns, char text[TIME_TEXT_BYTES]);
