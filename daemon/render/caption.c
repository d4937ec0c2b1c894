/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "render/caption.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/time_text.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define NSEC_PER_MS 1000000ULL

/* Appends to a text whose buffer is large enough. */
static void append(char *text, size_t room, size_t *size, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

static void append(char *text, size_t room, size_t *size, const char *format, ...)
{
	va_list arguments;
	int n;

	va_start(arguments, format);
	n = vsnprintf(text + *size, room - *size, format, arguments);
	va_end(arguments);
	assert(n >= 0 && (size_t)n < room - *size);
	*size += (size_t)n;
}

static uint64_t rate_hz(uint64_t period_ns)
{
	return period_ns > 0 ? (NSEC_PER_SEC + period_ns / 2) / period_ns : 0;
}

const struct event_source *caption_event_source(const struct profile *profile)
{
	return event_source_of(string_pool_get(&profile->strings, profile->event));
}

static void append_cpus(const struct profile *profile, char *text, size_t *size)
{
	if (profile->cpu_count > 0)
		append(text, CAPTION_BYTES, size, " on %" PRIu32 " CPU%s", profile->cpu_count,
			profile->cpu_count == 1 ? "" : "s");
}

static void append_rates(const struct profile *profile, char *text, size_t *size)
{
	uint64_t hz = rate_hz(profile->period_ns), lowest = rate_hz(profile->longest_period_ns);
	bool has_several = hz > 0 && profile->longest_period_ns > 0 && lowest < hz;

	if (has_several)
		append(text, CAPTION_BYTES, size, " at %" PRIu64 " to %" PRIu64 " Hz", lowest, hz);
	else if (hz > 0)
		append(text, CAPTION_BYTES, size, " at %" PRIu64 " Hz", hz);
	append_cpus(profile, text, size);
	if (has_several)
		append(text, CAPTION_BYTES, size, ", counts as of %" PRIu64 " Hz", hz);
}

/* The last word of a number of periods: " ms", " KiB", " faults"; and what one of it is. */
static double unit_of_periods(
	const struct event_source *source, uint64_t longest, char unit[CAPTION_NOUN_BYTES])
{
	switch (event_source_unit(source)) {
	case EVENT_UNIT_BYTES:
		(void)snprintf(unit, CAPTION_NOUN_BYTES, "%s",
			longest < 1024		? "bytes"
			: longest < 1024 * 1024 ? "KiB"
						: "MiB");
		return longest < 1024 ? 1 : longest < 1024 * 1024 ? 1024 : 1024 * 1024;
	case EVENT_UNIT_COUNT:
		(void)snprintf(
			unit, CAPTION_NOUN_BYTES, "%s%s", source->noun, longest == 1 ? "" : "s");
		return 1;
	case EVENT_UNIT_TIME:
		break;
	}
	(void)snprintf(unit, CAPTION_NOUN_BYTES, "ms");
	return NSEC_PER_MS;
}

static void append_periods(const struct profile *profile, char *text, size_t *size)
{
	const struct event_source *source = caption_event_source(profile);
	const uint64_t shortest = profile->period_ns;
	const uint64_t longest =
		profile->longest_period_ns > shortest ? profile->longest_period_ns : shortest;
	/* A number of events is told to the digit. */
	const int digits = event_source_unit(source) == EVENT_UNIT_COUNT ? 20 : 6;
	char unit[CAPTION_NOUN_BYTES];
	double one = unit_of_periods(source, longest, unit);

	if (longest > shortest)
		append(text, CAPTION_BYTES, size, " in samples of %.*g to %.*g %s", digits,
			(double)shortest / one, digits, (double)longest / one, unit);
	else if (shortest > 0)
		append(text, CAPTION_BYTES, size, " in samples of %.*g %s", digits,
			(double)shortest / one, unit);
	append_cpus(profile, text, size);
}

const char *caption_source(const struct profile *profile, char text[CAPTION_BYTES])
{
	const char *event = string_pool_get(&profile->strings, profile->event);
	const struct event_source *source = caption_event_source(profile);
	size_t size = 0;

	append(text, CAPTION_BYTES, &size, "%s", *event ? event : "samples");
	if (event_source_is_cpu(source)) {
		append_rates(profile, text, &size);
		return text;
	}
	if (source->title)
		append(text, CAPTION_BYTES, &size, " (%s)", source->title);
	append_periods(profile, text, &size);
	if (profile->accounts.events[PILOTLIGHT_EVENT_SURVEYED] > 0)
		append(text, CAPTION_BYTES, &size, ", by surveys");
	return text;
}

const char *caption_zone(uint64_t realtime_ns, char text[CAPTION_ZONE_BYTES])
{
	const time_t seconds = (time_t)(realtime_ns / NSEC_PER_SEC);
	struct tm when;

	tzset();
	if (!localtime_r(&seconds, &when) || strftime(text, CAPTION_ZONE_BYTES, "%Z", &when) == 0)
		(void)strcpy(text, "local time");
	return text;
}

const char *caption_time(const struct profile *profile, char text[CAPTION_BYTES])
{
	char start[TIME_TEXT_BYTES], zone[CAPTION_ZONE_BYTES];
	uint64_t span_ns, tenths, recorded;
	size_t size = 0;

	text[0] = '\0';
	if (profile->start_ns == 0)
		return text;
	append(text, CAPTION_BYTES, &size, "%s %s", time_text_format(profile->start_ns, start),
		caption_zone(profile->start_ns, zone));
	if (profile->end_ns <= profile->start_ns)
		return text;
	span_ns = profile->end_ns - profile->start_ns;
	tenths = span_ns / (NSEC_PER_SEC / 10);
	append(text, CAPTION_BYTES, &size, ", %" PRIu64 ".%" PRIu64 " s", tenths / 10, tenths % 10);
	recorded = profile->covered_ns / (NSEC_PER_SEC / 10);
	/* The lengths of consecutive windows differ by as much as the clocks do. */
	if (profile->covered_ns > 0 && profile->covered_ns < span_ns - span_ns / 100 &&
		recorded < tenths)
		append(text, CAPTION_BYTES, &size, ", %" PRIu64 ".%" PRIu64 " s of it recorded",
			recorded / 10, recorded % 10);
	return text;
}

const char *caption_count(uint64_t count, char text[CAPTION_COUNT_BYTES])
{
	char digits[CAPTION_COUNT_BYTES];
	int n = snprintf(digits, sizeof(digits), "%" PRIu64, count);
	char *next = text;

	for (int i = 0; i < n; i++) {
		if (i > 0 && (n - i) % 3 == 0)
			*next++ = ',';
		*next++ = digits[i];
	}
	*next = '\0';
	return text;
}

/* Rounds to the nearest, except that what would round to the next thousand of ms is seconds. */
static void write_time(unsigned __int128 ns, char text[CAPTION_AMOUNT_BYTES])
{
	const bool is_long = ns >= NSEC_PER_SEC - 500;
	const uint64_t unit = is_long ? NSEC_PER_MS : NSEC_PER_MS / 1000;
	unsigned __int128 thousandths = (ns + unit / 2) / unit;
	char whole[CAPTION_COUNT_BYTES];

	if (thousandths > UINT64_MAX)
		thousandths = UINT64_MAX;
	(void)snprintf(text, CAPTION_AMOUNT_BYTES, "%s.%03u %s",
		caption_count((uint64_t)thousandths / 1000, whole), (unsigned)(thousandths % 1000),
		is_long ? "s" : "ms");
}

/* Tenths of the largest unit of which there is one. */
static void write_bytes(unsigned __int128 bytes, char text[CAPTION_AMOUNT_BYTES])
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
	const uint64_t least_of_next = 1024 * 10 * 2 - 1; /* twentieths that round to it */
	char whole[CAPTION_COUNT_BYTES];
	uint64_t tenths;
	size_t unit = 0;

	if (bytes < 1024) {
		(void)snprintf(text, CAPTION_AMOUNT_BYTES, "%u B", (unsigned)bytes);
		return;
	}
	for (bytes *= 20; unit + 1 < ARRAY_SIZE(units) && bytes >= least_of_next; unit++)
		bytes /= 1024;
	bytes = (bytes + 1) / 2;
	tenths = bytes > UINT64_MAX ? UINT64_MAX : (uint64_t)bytes;
	(void)snprintf(text, CAPTION_AMOUNT_BYTES, "%s.%u %s", caption_count(tenths / 10, whole),
		(unsigned)(tenths % 10), units[unit]);
}

/* Of sources that are counted: samples of CPU time, events of the others. */
static uint64_t number_of(const struct profile *profile, uint64_t count)
{
	uint64_t number;

	if (event_source_is_cpu(caption_event_source(profile)))
		return count;
	return __builtin_mul_overflow(count, profile->period_ns, &number) ? UINT64_MAX : number;
}

/* NULL: amounts are times or bytes. */
static const char *noun_of(const struct profile *profile)
{
	const struct event_source *source = caption_event_source(profile);

	return event_source_is_cpu(source) ? "sample" : source->noun;
}

const char *caption_amount(
	const struct profile *profile, uint64_t count, char text[CAPTION_AMOUNT_BYTES])
{
	const struct event_source *source = caption_event_source(profile);

	if (noun_of(profile))
		return caption_count(number_of(profile, count), text);
	if (event_source_unit(source) == EVENT_UNIT_BYTES)
		write_bytes((unsigned __int128)count * profile->period_ns, text);
	else
		write_time((unsigned __int128)count * profile->period_ns, text);
	return text;
}

const char *caption_plain_amount(
	const struct profile *profile, uint64_t count, char text[CAPTION_AMOUNT_BYTES])
{
	if (!noun_of(profile))
		return caption_amount(profile, count, text);
	(void)snprintf(text, CAPTION_AMOUNT_BYTES, "%" PRIu64, number_of(profile, count));
	return text;
}

const char *caption_noun(
	const struct profile *profile, uint64_t count, char text[CAPTION_NOUN_BYTES])
{
	const char *noun = noun_of(profile);

	(void)snprintf(text, CAPTION_NOUN_BYTES, "%s%s%s", noun ? " " : "", noun ? noun : "",
		!noun || number_of(profile, count) == 1 ? "" : "s");
	return text;
}

const char *caption_samples(
	const struct profile *profile, uint64_t count, char text[CAPTION_AMOUNT_BYTES])
{
	size_t size = strlen(caption_amount(profile, count, text));
	char noun[CAPTION_NOUN_BYTES];

	append(text, CAPTION_AMOUNT_BYTES, &size, "%s", caption_noun(profile, count, noun));
	return text;
}

const char *caption_share(uint64_t part, uint64_t whole, char text[CAPTION_SHARE_BYTES])
{
	unsigned __int128 rounded = 0;

	if (whole > 0)
		rounded = ((unsigned __int128)part * 10000 + whole / 2) / whole;
	if (rounded > UINT32_MAX)
		rounded = UINT32_MAX;
	(void)snprintf(text, CAPTION_SHARE_BYTES, "%u.%02u", (unsigned)(rounded / 100),
		(unsigned)(rounded % 100));
	return text;
}

const char *caption_losses(const struct profile *profile, const struct accounts *accounts,
	char text[CAPTION_LOSSES_BYTES])
{
	char amount[CAPTION_AMOUNT_BYTES];
	size_t size = 0;

	for (enum pilotlight_drop i = 0; i < PILOTLIGHT_DROP_COUNT; i++)
		if (accounts_drop_is_loss(i) && accounts->dropped[i] > 0)
			append(text, CAPTION_LOSSES_BYTES, &size, "%s%s %s", size > 0 ? ", " : "",
				accounts_drop_name(i),
				caption_plain_amount(profile, accounts->dropped[i], amount));
	if (size == 0)
		append(text, CAPTION_LOSSES_BYTES, &size, "nothing");
	return text;
}
