/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "render/svg_text.h"

#include "base/utf8.h"

#include <string.h>

static const char ellipsis[] = "\xe2\x80\xa6";

static const char *entity(char c)
{
	switch (c) {
	case '&':
		return "&amp;";
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '"':
		return "&quot;";
	default:
		return "";
	}
}

void svg_write_text(struct output *output, const char *text)
{
	for (;;) {
		size_t plain = strcspn(text, "&<>\"");

		output_write(output, text, plain);
		text += plain;
		if (!*text)
			return;
		output_string(output, entity(*text++));
	}
}

void svg_write_json(struct output *output, const char *text)
{
	for (;;) {
		size_t plain = strcspn(text, "&<>\"\\");

		output_write(output, text, plain);
		text += plain;
		if (!*text)
			return;
		if (*text == '"' || *text == '\\') {
			output_char(output, '\\');
			output_char(output, *text++);
		} else {
			output_string(output, entity(*text++));
		}
	}
}

void svg_write_hundredths(struct output *output, uint64_t hundredths)
{
	output_u64(output, hundredths / 100);
	if (hundredths % 100 == 0)
		return;
	output_char(output, '.');
	output_char(output, (char)('0' + hundredths / 10 % 10));
	if (hundredths % 10)
		output_char(output, (char)('0' + hundredths % 10));
}

/* Most scripts from U+1100 on are wide. Labels of the others get more room than they need. */
static size_t sequence_columns(const char *text, size_t length)
{
	if (length == 3 && memcmp(text, ellipsis, length) == 0)
		return 1;
	return length >= 4 || (length == 3 && (unsigned char)text[0] >= 0xe1 &&
				      memcmp(text, "\xe1\x84\x80", 3) >= 0)
		       ? 2
		       : 1;
}

static size_t sequence(const char *text, size_t size)
{
	size_t length = utf8_sequence(text, size);

	return length ? length : 1;
}

size_t svg_text_columns(const char *text)
{
	size_t size = strlen(text), columns = 0, length;

	for (; size > 0; text += length, size -= length) {
		length = sequence(text, size);
		columns += sequence_columns(text, length);
	}
	return columns;
}

void svg_elide_text(char *text, size_t text_room, size_t columns)
{
	size_t size = strlen(text), used = 0, at = 0, cut = 0, length, wide;

	for (; at < size; at += length, used += wide) {
		length = sequence(text + at, size - at);
		wide = sequence_columns(text + at, length);
		if (used + 1 <= columns)
			cut = at;
		if (used + wide > columns)
			break;
	}
	if (at >= size || cut + sizeof(ellipsis) > text_room)
		return;
	memcpy(text + cut, ellipsis, sizeof(ellipsis));
}
