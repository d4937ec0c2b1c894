/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "render/caption.h"

#include "base/clock.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <time.h>

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

const char *caption_source(const struct profile *profile, char text[CAPTION_BYTES])
{
	const char *event = string_pool_get(&profile->strings, profile->event);
	uint64_t hz = rate_hz(profile->period_ns), lowest = rate_hz(profile->longest_period_ns);
	bool has_several = hz > 0 && profile->longest_period_ns > 0 && lowest < hz;
	size_t size = 0;

	append(text, CAPTION_BYTES, &size, "%s", *event ? event : "samples");
	if (has_several)
		append(text, CAPTION_BYTES, &size, " at %" PRIu64 " to %" PRIu64 " Hz", lowest, hz);
	else if (hz > 0)
		append(text, CAPTION_BYTES, &size, " at %" PRIu64 " Hz", hz);
	if (profile->cpu_count > 0)
		append(text, CAPTION_BYTES, &size, " on %" PRIu32 " CPU%s", profile->cpu_count,
			profile->cpu_count == 1 ? "" : "s");
	if (has_several)
		append(text, CAPTION_BYTES, &size, ", counts as of %" PRIu64 " Hz", hz);
	return text;
}

const char *caption_time(const struct profile *profile, char text[CAPTION_BYTES])
{
	time_t seconds = (time_t)(profile->start_ns / NSEC_PER_SEC);
	struct tm when;
	uint64_t span_ns, tenths, recorded;
	size_t size = 0;

	text[0] = '\0';
	if (profile->start_ns == 0 || !gmtime_r(&seconds, &when))
		return text;
	append(text, CAPTION_BYTES, &size, "%04d-%02d-%02d %02d:%02d:%02d UTC", when.tm_year + 1900,
		when.tm_mon + 1, when.tm_mday, when.tm_hour, when.tm_min, when.tm_sec);
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

const char *caption_losses(const struct profile *profile, char text[CAPTION_LOSSES_BYTES])
{
	size_t size = 0;

	for (enum pilotlight_drop i = 0; i < PILOTLIGHT_DROP_COUNT; i++)
		if (accounts_drop_is_loss(i) && profile->accounts.dropped[i] > 0)
			append(text, CAPTION_LOSSES_BYTES, &size, "%s%s %" PRIu64,
				size > 0 ? ", " : "", accounts_drop_name(i),
				profile->accounts.dropped[i]);
	if (size == 0)
		append(text, CAPTION_LOSSES_BYTES, &size, "nothing");
	return text;
}
