/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "api/report_words.h"

#include "base/array.h"
#include "base/event_source.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { COLUMNS = 80 };

static size_t columns_of(const char *text, size_t size)
{
	size_t columns = 0;

	for (size_t i = 0; i < size; i++)
		columns += ((unsigned char)text[i] & 0xc0) != 0x80;
	return columns;
}

/* Writes words from column `start` on and indents the following lines to it. */
void report_write_words(struct output *output, const char *text, size_t start)
{
	size_t column = start;

	while (*text) {
		size_t size = strcspn(text, " ");
		size_t columns = columns_of(text, size);

		if (column > start && column + 1 + columns > COLUMNS) {
			output_printf(output, "\n%*s", (int)start, "");
			column = start;
		} else if (column > start) {
			output_char(output, ' ');
			column++;
		}
		output_write(output, text, size);
		column += columns;
		text += size;
		text += strspn(text, " ");
	}
	output_char(output, '\n');
}

const char *report_bytes(uint64_t bytes, char text[REPORT_NUMBER_BYTES])
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	double value = (double)bytes;
	size_t unit = 0;

	while (value >= 1024 && unit + 1 < ARRAY_SIZE(units)) {
		value /= 1024;
		unit++;
	}
	(void)snprintf(text, REPORT_NUMBER_BYTES, unit > 0 && value < 99.95 ? "%.1f %s" : "%.0f %s",
		value, units[unit]);
	return text;
}

const char *report_count(uint64_t count, char text[REPORT_NUMBER_BYTES])
{
	char digits[REPORT_NUMBER_BYTES];
	int size = snprintf(digits, sizeof(digits), "%" PRIu64, count);
	char *next = text;

	for (int i = 0; i < size; i++) {
		if (i > 0 && (size - i) % 3 == 0)
			*next++ = ',';
		*next++ = digits[i];
	}
	*next = '\0';
	return text;
}

/* Uses enough digits to show that a nonzero share is not 0. */
const char *report_share(uint64_t part, uint64_t whole, char text[REPORT_SHARE_BYTES])
{
	double percent = whole > 0 ? (double)part * 100 / (double)whole : 0;

	if (percent > 0 && percent < 0.001)
		(void)snprintf(text, REPORT_SHARE_BYTES, "< 0.001%%");
	else
		(void)snprintf(
			text, REPORT_SHARE_BYTES, percent < 1 ? "%.3f%%" : "%.1f%%", percent);
	return text;
}

const char *report_clean(const char *text, size_t size, char clean[UTF8_CLEAN_BYTES])
{
	(void)utf8_clean(clean, text, strnlen(text, size));
	return clean;
}

const char *report_event_name(const struct service_status *service, enum pilotlight_source source)
{
	return event_source_is_counted(source)
		       ? service->counted[source - PILOTLIGHT_SOURCE_COUNTED]
		       : event_sources[source].name;
}
