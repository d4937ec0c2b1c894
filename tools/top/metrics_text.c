/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/top/metrics_text.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBER_BYTES = 64 };

/* The format allows a time stamp after the value. */
static int parse_value(const char *text, size_t size, double *ret_value)
{
	char number[NUMBER_BYTES], *end;
	double value;

	if (size == 0 || size >= sizeof(number) || text[0] == ' ')
		return -EINVAL;
	memcpy(number, text, size);
	number[size] = '\0';
	value = strtod(number, &end);
	if (end == number || (*end && *end != ' ') || !isfinite(value))
		return -EINVAL;
	*ret_value = value;
	return 0;
}

int metrics_text_find(const char *text, size_t size, const char *series, double *ret_value)
{
	size_t length = strlen(series);

	for (const char *end = text + size; text < end;) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		size_t line = newline ? (size_t)(newline - text) : (size_t)(end - text);

		if (line > length && memcmp(text, series, length) == 0 && text[length] == ' ')
			return parse_value(text + length + 1, line - length - 1, ret_value);
		text += newline ? line + 1 : line;
	}
	return -ENOENT;
}
