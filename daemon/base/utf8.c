/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/utf8.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static const char replacement[] = "\xef\xbf\xbd";
static const char ellipsis[] = "\xe2\x80\xa6";

enum {
	TEXT_MAX = UTF8_CLEAN_BYTES - 1,
	HEAD_BYTES = TEXT_MAX / 2,
};

static bool is_continuation(unsigned char byte)
{
	return (byte & 0xc0) == 0x80;
}

size_t utf8_sequence(const char *bytes, size_t size)
{
	const unsigned char *b = (const unsigned char *)bytes;
	uint32_t point;

	if (size == 0)
		return 0;
	if (b[0] < 0x80)
		return 1;
	if (size >= 2 && (b[0] & 0xe0) == 0xc0 && is_continuation(b[1]))
		return b[0] >= 0xc2 ? 2 : 0;
	if (size >= 3 && (b[0] & 0xf0) == 0xe0 && is_continuation(b[1]) && is_continuation(b[2])) {
		point = (b[0] & 0x0fU) << 12 | (b[1] & 0x3fU) << 6 | (b[2] & 0x3fU);
		return point >= 0x800 && (point < 0xd800 || point > 0xdfff) ? 3 : 0;
	}
	if (size >= 4 && (b[0] & 0xf8) == 0xf0 && is_continuation(b[1]) && is_continuation(b[2]) &&
		is_continuation(b[3])) {
		point = (b[0] & 0x07U) << 18 | (b[1] & 0x3fU) << 12 | (b[2] & 0x3fU) << 6 |
			(b[3] & 0x3fU);
		return point >= 0x10000 && point <= 0x10ffff ? 4 : 0;
	}
	return 0;
}

/* C0 and C1 controls and DEL: what a terminal obeys and XML 1.0 forbids or discourages. */
static bool is_control(const char *bytes, size_t length)
{
	unsigned char first = (unsigned char)bytes[0];

	if (length == 1)
		return first < 0x20 || first == 0x7f;
	return length == 2 && first == 0xc2 && (unsigned char)bytes[1] < 0xa0;
}

/* Is this U+FFFE or U+FFFF, which XML 1.0 forbids? */
static bool is_noncharacter(const char *bytes, size_t length)
{
	return length == 3 && memcmp(bytes, "\xef\xbf", 2) == 0 && (unsigned char)bytes[2] >= 0xbe;
}

/*
 * Controls of text direction reorder what stands beside a name, in a terminal as in a picture, and
 * can make one program look like another: U+061C, U+200E, U+200F, U+202A to U+202E, U+2066 to
 * U+2069. The separators of lines and paragraphs, U+2028 and U+2029, break lines.
 */
static bool is_layout_control(const char *bytes, size_t length)
{
	unsigned char last = (unsigned char)bytes[length - 1];

	if (length == 2)
		return memcmp(bytes, "\xd8\x9c", 2) == 0;
	if (length != 3)
		return false;
	if (memcmp(bytes, "\xe2\x80", 2) == 0)
		return last == 0x8e || last == 0x8f || (last >= 0xa8 && last <= 0xae);
	return memcmp(bytes, "\xe2\x81", 2) == 0 && last >= 0xa6 && last <= 0xa9;
}

static bool is_replaced(const char *bytes, size_t length)
{
	return length == 0 || is_control(bytes, length) || is_noncharacter(bytes, length) ||
	       is_layout_control(bytes, length);
}

struct piece {
	const char *text; /* what it becomes */
	size_t size;
	size_t read; /* how many bytes it was */
};

/* The sequence, or else the byte, that begins `bytes`. */
static struct piece first_piece(const char *bytes, size_t size)
{
	size_t length = utf8_sequence(bytes, size);

	if (is_replaced(bytes, length))
		return (struct piece){ replacement, sizeof(replacement) - 1, length ? length : 1 };
	return (struct piece){ bytes, length, length };
}

/* How many bytes from there on are printable ASCII, as nearly all are. */
static size_t plain_run(const char *bytes, size_t size)
{
	size_t count = 0;

	while (count < size && bytes[count] >= ' ' && bytes[count] <= '~')
		count++;
	return count;
}

/* Cleans as much as `room` holds. Returns how many bytes it wrote, and in *ret_read how many it
 * read. */
static size_t clean_part(char *clean, size_t room, const char *bytes, size_t size, size_t *ret_read)
{
	size_t written = 0, read = 0;

	while (read < size) {
		size_t left = size - read, left_room = room - written;
		size_t plain = plain_run(bytes + read, left < left_room ? left : left_room);
		struct piece piece;

		memcpy(clean + written, bytes + read, plain);
		written += plain;
		read += plain;
		if (read == size)
			break;
		piece = first_piece(bytes + read, size - read);
		if (piece.size > room - written)
			break;
		memcpy(clean + written, piece.text, piece.size);
		written += piece.size;
		read += piece.read;
	}
	*ret_read = read;
	return written;
}

/* Where the longest end of bytes[first..size) begins that `room` holds when it is clean. */
static size_t find_tail(const char *bytes, size_t first, size_t size, size_t room)
{
	size_t start = first, clean_size = 0;

	/* Cleaning makes nothing shorter, so that more raw bytes than `room` need not be looked at.
	 */
	if (size - first > room) {
		start = size - room;
		for (int i = 0; i < 3 && is_continuation((unsigned char)bytes[start]); i++)
			start++;
	}
	for (size_t i = start; i < size;) {
		struct piece piece = first_piece(bytes + i, size - i);

		clean_size += piece.size;
		i += piece.read;
	}
	while (clean_size > room) {
		struct piece piece = first_piece(bytes + start, size - start);

		clean_size -= piece.size;
		start += piece.read;
	}
	return start;
}

size_t utf8_clean(char *clean, const char *bytes, size_t size)
{
	size_t read, written, tail;

	written = clean_part(clean, TEXT_MAX, bytes, size, &read);
	if (read < size) {
		written = clean_part(clean, HEAD_BYTES, bytes, size, &read);
		memcpy(clean + written, ellipsis, sizeof(ellipsis) - 1);
		written += sizeof(ellipsis) - 1;
		tail = find_tail(bytes, read, size, TEXT_MAX - written);
		written += clean_part(
			clean + written, TEXT_MAX - written, bytes + tail, size - tail, &read);
	}
	clean[written] = '\0';
	return written;
}
