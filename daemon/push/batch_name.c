/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "push/batch_name.h"

#include "base/clock.h"
#include "base/event_source.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { SOURCE_BYTES = 24 };

/* Up to the year 9999, and within 64 bits of nanoseconds. */
#define TIME_NS_MAX INT64_MAX

/* "kmem:live" becomes "kmem-live": tools take what is before a colon for a host. */
static void format_source(enum pilotlight_source source, char text[SOURCE_BYTES])
{
	(void)snprintf(text, SOURCE_BYTES, "%s", event_sources[source].name);
	for (char *colon = text; (colon = strchr(colon, ':'));)
		*colon = '-';
}

bool batch_is_same(const struct batch *a, const struct batch *b)
{
	return a->start_ns == b->start_ns && a->end_ns == b->end_ns && a->source == b->source;
}

void batch_name_format(const struct batch *batch, const char *ending, char name[BATCH_NAME_BYTES])
{
	time_t seconds = (time_t)(batch->start_ns / NSEC_PER_SEC);
	char source[SOURCE_BYTES];
	struct tm time = { 0 };

	format_source(batch->source, source);
	(void)gmtime_r(&seconds, &time);
	(void)snprintf(name, BATCH_NAME_BYTES,
		"%04d%02d%02dT%02d%02d%02d.%09" PRIu64 "Z_%" PRIu64 "ns_%s%.*s",
		time.tm_year + 1900, time.tm_mon + 1, time.tm_mday, time.tm_hour, time.tm_min,
		time.tm_sec, batch->start_ns % NSEC_PER_SEC, batch->end_ns - batch->start_ns,
		source, BATCH_ENDING_BYTES - 1, ending);
}

/* Reads exactly `digits` digits, or up to 19 if 0, and advances. Returns false if there are none.
 */
static bool take_digits(const char **at, int digits, uint64_t *ret_number)
{
	uint64_t number = 0;
	int n = 0;

	for (; n < (digits ? digits : 19) && **at >= '0' && **at <= '9'; n++, ++*at)
		number = number * 10 + (uint64_t)(**at - '0');
	*ret_number = number;
	return digits ? n == digits : n > 0;
}

static bool take_text(const char **at, const char *text)
{
	size_t size = strlen(text);

	if (strncmp(*at, text, size) != 0)
		return false;
	*at += size;
	return true;
}

static bool take_time(const char **at, uint64_t *ret_ns)
{
	uint64_t year, month, day, hour, minute, second, ns;
	struct tm time = { 0 };
	time_t seconds;

	if (!take_digits(at, 4, &year) || !take_digits(at, 2, &month) ||
		!take_digits(at, 2, &day) || !take_text(at, "T") || !take_digits(at, 2, &hour) ||
		!take_digits(at, 2, &minute) || !take_digits(at, 2, &second) ||
		!take_text(at, ".") || !take_digits(at, 9, &ns))
		return false;
	time.tm_year = (int)year - 1900;
	time.tm_mon = (int)month - 1;
	time.tm_mday = (int)day;
	time.tm_hour = (int)hour;
	time.tm_min = (int)minute;
	time.tm_sec = (int)second;
	seconds = timegm(&time);
	if (seconds < 0 || (uint64_t)seconds > TIME_NS_MAX / NSEC_PER_SEC - 1)
		return false;
	*ret_ns = (uint64_t)seconds * NSEC_PER_SEC + ns;
	return true;
}

static bool take_source(const char **at, enum pilotlight_source *ret_source)
{
	for (enum pilotlight_source i = 0; i < PILOTLIGHT_SOURCES; i++) {
		char source[SOURCE_BYTES];
		size_t size;

		format_source(i, source);
		size = strlen(source);
		/* The name ends where the ending begins. */
		if (strncmp(*at, source, size) == 0 && (*at)[size] == '.') {
			*at += size;
			*ret_source = i;
			return true;
		}
	}
	return false;
}

int batch_name_parse(const char *name, const char *ending, struct batch *ret_batch)
{
	char canonical[BATCH_NAME_BYTES];
	const char *at = name;
	struct batch batch;
	uint64_t duration_ns;

	if (!take_time(&at, &batch.start_ns) || !take_text(&at, "Z_") ||
		!take_digits(&at, 0, &duration_ns) || !take_text(&at, "ns_") ||
		!take_source(&at, &batch.source) || duration_ns > TIME_NS_MAX)
		return -EINVAL;
	batch.end_ns = batch.start_ns + duration_ns;
	/* Also rejects 31 February and leading zeros. */
	batch_name_format(&batch, ending, canonical);
	if (strcmp(name, canonical) != 0)
		return -EINVAL;
	*ret_batch = batch;
	return 0;
}
