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

/*
 * Writes text up to a sequence that `bytes` end in the middle of, or all of it if `is_end`. Returns
 * how many bytes it took.
 */
static size_t write_text(
	struct output *output, const char *bytes, size_t size, bool has_lines, bool is_end)
{
	size_t i = 0;

	while (i < size) {
		size_t plain = plain_length(bytes + i, size - i), length;

		output_write(output, bytes + i, plain);
		i += plain;
		if (i == size || (!is_end && utf8_is_cut(bytes + i, size - i)))
			break;
		length = utf8_shown(bytes + i, size - i);
		if (length > 0 || (has_lines && (bytes[i] == '\n' || bytes[i] == '\t')))
			output_write(output, bytes + i, length > 0 ? length : 1);
		else
			output_string(output, "\xef\xbf\xbd");
		length = utf8_sequence(bytes + i, size - i);
		i += length > 0 ? length : 1;
	}
	return i;
}

void shown_text_write(struct output *output, const char *bytes, size_t size)
{
	(void)write_text(output, bytes, size, false, true);
}

void shown_lines_init(struct shown_lines *lines, output_function write, void *context)
{
	output_init(&lines->output, write, context);
	lines->held_bytes = 0;
}

/* Completes the sequence that the last part ended in the middle of. Returns how many bytes that
 * took. */
static size_t complete(struct shown_lines *lines, const char *bytes, size_t size)
{
	size_t taken = 0;

	while (lines->held_bytes > 0 && taken < size) {
		size_t written;

		lines->held[lines->held_bytes++] = bytes[taken++];
		written = write_text(&lines->output, lines->held, lines->held_bytes, true, false);
		lines->held_bytes -= written;
		memmove(lines->held, lines->held + written, lines->held_bytes);
	}
	return taken;
}

int shown_lines_write(void *context, const void *bytes, size_t size)
{
	struct shown_lines *lines = context;
	size_t taken = complete(lines, bytes, size);

	taken += write_text(&lines->output, (const char *)bytes + taken, size - taken, true, false);
	if (taken < size) {
		lines->held_bytes = size - taken;
		memcpy(lines->held, (const char *)bytes + taken, lines->held_bytes);
	}
	return output_finish(&lines->output);
}

int shown_lines_finish(struct shown_lines *lines)
{
	(void)write_text(&lines->output, lines->held, lines->held_bytes, true, true);
	lines->held_bytes = 0;
	return output_finish(&lines->output);
}

void shown_text_string(struct output *output, const char *string)
{
	shown_text_write(output, string, strlen(string));
}
