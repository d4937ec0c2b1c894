/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/shown_text.h"

#include "base/output.h"
#include "base/utf8.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

const char *shown_text_bytes(uint64_t bytes, char text[SHOWN_TEXT_BYTES_BYTES])
{
	static const char units[] = "KMGTPE";
	double value = (double)bytes / 1024;
	size_t unit = 0;

	if (bytes < 1024) {
		(void)snprintf(text, SHOWN_TEXT_BYTES_BYTES, "%" PRIu64 " B", bytes);
		return text;
	}
	/* A value that rounds to 1024.0 is shown as 1.0 of the next unit. */
	for (; value >= 1023.95; unit++)
		value /= 1024;
	(void)snprintf(text, SHOWN_TEXT_BYTES_BYTES, "%.1f %ciB", value, units[unit]);
	return text;
}

/* The length of the printable ASCII at the start: the fast path. */
static size_t plain_length(const char *bytes, size_t size)
{
	size_t length = 0;

	while (length < size && bytes[length] >= ' ' && bytes[length] <= '~')
		length++;
	return length;
}

/* Of a sequence: not a control character of C0 or C1, or DEL. */
static bool is_printable(const char *bytes, size_t length)
{
	const unsigned char *b = (const unsigned char *)bytes;

	if (length == 1)
		return b[0] >= ' ' && b[0] != 0x7f;
	return length > 2 || b[0] != 0xc2 || b[1] >= 0xa0;
}

void shown_text_write(struct output *output, const char *bytes, size_t size)
{
	for (size_t i = 0; i < size;) {
		size_t plain = plain_length(bytes + i, size - i), length;

		output_write(output, bytes + i, plain);
		i += plain;
		if (i == size)
			return;
		length = utf8_sequence(bytes + i, size - i);
		if (length > 0 && is_printable(bytes + i, length))
			output_write(output, bytes + i, length);
		else
			output_string(output, "\xef\xbf\xbd");
		i += length > 0 ? length : 1;
	}
}

void shown_text_string(struct output *output, const char *string)
{
	shown_text_write(output, string, strlen(string));
}
