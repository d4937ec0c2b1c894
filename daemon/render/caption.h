/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Describes a profile in words and figures, the same in all renderers. Each function fills the
 * caller's buffer, whose size is given here, and returns it. The texts do not depend on the locale
 * or the time zone.
 */
#pragma once

#include "aggregate/profile.h"
#include "base/event_source.h"

enum {
	CAPTION_BYTES = 1280, /* a pooled string and a sentence */
	CAPTION_COUNT_BYTES = 28,
	CAPTION_NOUN_BYTES = 16,
	CAPTION_AMOUNT_BYTES = CAPTION_COUNT_BYTES + CAPTION_NOUN_BYTES,
	CAPTION_SHARE_BYTES = 24,
	CAPTION_LOSSES_BYTES = 512,
};

/*
 * "cpu-clock at 99 Hz on 4 CPUs"; unknown parts are left out. After a merge of windows with several
 * rates: "cpu-clock at 11 to 99 Hz on 4 CPUs, counts as of 99 Hz". Of other sources than CPU time:
 * "offcpu (time off CPU) in samples of 1 ms on 4 CPUs", "faults (page faults) in samples of 7
 * faults on 4 CPUs".
 */
const char *caption_source(const struct profile *profile, char text[CAPTION_BYTES]);

/* "UTC": the name of the local time zone at that time. */
enum { CAPTION_ZONE_BYTES = 16 };
const char *caption_zone(uint64_t realtime_ns, char text[CAPTION_ZONE_BYTES]);

/*
 * In local time, as titles: "2026-11-20 03:12:05 UTC, 10.0 s"; "" if the profile has no time. If
 * windows are missing in between: "2026-11-20 03:12:05 UTC, 60.0 s, 40.0 s of it recorded".
 */
const char *caption_time(const struct profile *profile, char text[CAPTION_BYTES]);

/* "1,234,567". */
const char *caption_count(uint64_t count, char text[CAPTION_COUNT_BYTES]);

/*
 * What so many samples stand for. Of CPU time it is their number: "1,234 samples", or "1,234" from
 * caption_amount(). Of sources of a count it is the number of events: "1,234 faults", or "1,234".
 * Of others both give the time, "12.345 s", or "1.250 ms" below a second; or the bytes, "12.3 MiB".
 */
const char *caption_samples(
	const struct profile *profile, uint64_t count, char text[CAPTION_AMOUNT_BYTES]);
const char *caption_amount(
	const struct profile *profile, uint64_t count, char text[CAPTION_AMOUNT_BYTES]);

/* " samples" or " fault": what caption_samples() adds to caption_amount(). */
const char *caption_noun(
	const struct profile *profile, uint64_t count, char text[CAPTION_NOUN_BYTES]);

/* The same for lists of figures: a number of samples or events has no commas. */
const char *caption_plain_amount(
	const struct profile *profile, uint64_t count, char text[CAPTION_AMOUNT_BYTES]);

/* The source of the profile's event. */
const struct event_source *caption_event_source(const struct profile *profile);

/* "12.34": hundredths of a per cent, rounded to the nearest; "0.00" if the whole is 0. */
const char *caption_share(uint64_t part, uint64_t whole, char text[CAPTION_SHARE_BYTES]);

/* "ring full 3, profile full 2", or "nothing"; "ring full 12.345 s" of times. */
const char *caption_losses(const struct profile *profile, const struct accounts *accounts,
	char text[CAPTION_LOSSES_BYTES]);
