/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/utf8.h"

#include "base/array.h"

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

/* Returns the length of the sequence that begins `bytes`, or 0, and its character. */
static size_t decode(const char *bytes, size_t size, uint32_t *ret_point)
{
	const unsigned char *b = (const unsigned char *)bytes;
	uint32_t point;

	if (size == 0)
		return 0;
	if (b[0] < 0x80) {
		*ret_point = b[0];
		return 1;
	}
	if (size >= 2 && (b[0] & 0xe0) == 0xc0 && is_continuation(b[1])) {
		*ret_point = (b[0] & 0x1fU) << 6 | (b[1] & 0x3fU);
		return b[0] >= 0xc2 ? 2 : 0;
	}
	if (size >= 3 && (b[0] & 0xf0) == 0xe0 && is_continuation(b[1]) && is_continuation(b[2])) {
		*ret_point = point = (b[0] & 0x0fU) << 12 | (b[1] & 0x3fU) << 6 | (b[2] & 0x3fU);
		return point >= 0x800 && (point < 0xd800 || point > 0xdfff) ? 3 : 0;
	}
	if (size >= 4 && (b[0] & 0xf8) == 0xf0 && is_continuation(b[1]) && is_continuation(b[2]) &&
		is_continuation(b[3])) {
		*ret_point = point = (b[0] & 0x07U) << 18 | (b[1] & 0x3fU) << 12 |
				     (b[2] & 0x3fU) << 6 | (b[3] & 0x3fU);
		return point >= 0x10000 && point <= 0x10ffff ? 4 : 0;
	}
	return 0;
}

size_t utf8_sequence(const char *bytes, size_t size)
{
	uint32_t point;

	return decode(bytes, size, &point);
}

bool utf8_is_cut(const char *bytes, size_t size)
{
	unsigned char first = size > 0 ? (unsigned char)bytes[0] : 0;
	size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;

	if (first < 0xc2 || first > 0xf4 || size >= length)
		return false;
	for (size_t i = 1; i < size; i++)
		if (!is_continuation((unsigned char)bytes[i]))
			return false;
	return true;
}

/*
 * Characters that can make one name look like another, or that a terminal obeys. The joiners U+200C
 * and U+200D are not among them: Persian, the scripts of India and emoji need them.
 */
static bool is_deceptive(uint32_t point)
{
	static const struct {
		uint32_t first, last;
	} ranges[] = {
		{ 0x00, 0x1f },	      /* C0: a terminal obeys them, XML 1.0 forbids most */
		{ 0x7f, 0x9f },	      /* DEL, C1 */
		{ 0xad, 0xad },	      /* soft hyphen: invisible */
		{ 0x61c, 0x61c },     /* text direction: reorders what stands beside the name */
		{ 0x180e, 0x180e },   /* vowel separator: invisible */
		{ 0x200b, 0x200b },   /* space without width */
		{ 0x200e, 0x200f },   /* text direction */
		{ 0x2028, 0x202e },   /* separators of lines and paragraphs, text direction */
		{ 0x2060, 0x206f },   /* invisible operators, text direction, deprecated controls */
		{ 0xfeff, 0xfeff },   /* byte order mark: invisible */
		{ 0xfff9, 0xfffb },   /* annotation: may hide what it encloses */
		{ 0xfffe, 0xffff },   /* XML 1.0 forbids them */
		{ 0xe0000, 0xe007f }, /* tags: invisible copies of ASCII */
	};

	for (size_t i = 0; i < ARRAY_SIZE(ranges) && ranges[i].first <= point; i++)
		if (point <= ranges[i].last)
			return true;
	return false;
}

size_t utf8_shown(const char *bytes, size_t size)
{
	uint32_t point;
	size_t length = decode(bytes, size, &point);

	return length > 0 && !is_deceptive(point) ? length : 0;
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

	if (utf8_shown(bytes, size) == 0)
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
