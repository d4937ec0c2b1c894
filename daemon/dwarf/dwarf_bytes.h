/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A part of a DWARF section, read from its start to its end. Reading beyond the end returns zeros
 * and sets a flag, so readers check once for many values (I8). A value object that borrows the
 * bytes.
 */
#pragma once

#include <byteswap.h>
#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Longer strings are refused, because hostile ones would cost too much time. */
enum { DWARF_STRING_BYTES_MAX = 64 * 1024 };

struct dwarf_bytes {
	const uint8_t *position, *end;
	bool is_swapped; /* not in the host's byte order */
	bool is_short;	 /* a read went beyond the end */
};

static inline size_t dwarf_bytes_left(const struct dwarf_bytes *bytes)
{
	return (size_t)(bytes->end - bytes->position);
}

/* Returns the bytes, or NULL if there are fewer. */
static inline const uint8_t *dwarf_bytes_take(struct dwarf_bytes *bytes, uint64_t size)
{
	const uint8_t *start = bytes->position;

	if (!start || size > dwarf_bytes_left(bytes)) {
		bytes->position = bytes->end;
		bytes->is_short = true;
		return NULL;
	}
	bytes->position += size;
	return start;
}

static inline uint8_t dwarf_bytes_u8(struct dwarf_bytes *bytes)
{
	const uint8_t *start = dwarf_bytes_take(bytes, 1);

	return start ? *start : 0;
}

static inline uint16_t dwarf_bytes_u16(struct dwarf_bytes *bytes)
{
	const uint8_t *start = dwarf_bytes_take(bytes, sizeof(uint16_t));
	uint16_t value = 0;

	if (start)
		memcpy(&value, start, sizeof(value));
	return bytes->is_swapped ? bswap_16(value) : value;
}

static inline uint32_t dwarf_bytes_u32(struct dwarf_bytes *bytes)
{
	const uint8_t *start = dwarf_bytes_take(bytes, sizeof(uint32_t));
	uint32_t value = 0;

	if (start)
		memcpy(&value, start, sizeof(value));
	return bytes->is_swapped ? bswap_32(value) : value;
}

static inline uint64_t dwarf_bytes_u64(struct dwarf_bytes *bytes)
{
	const uint8_t *start = dwarf_bytes_take(bytes, sizeof(uint64_t));
	uint64_t value = 0;

	if (start)
		memcpy(&value, start, sizeof(value));
	return bytes->is_swapped ? bswap_64(value) : value;
}

static inline uint32_t dwarf_bytes_u24(struct dwarf_bytes *bytes)
{
	uint32_t first = dwarf_bytes_u8(bytes), second = dwarf_bytes_u8(bytes);
	uint32_t third = dwarf_bytes_u8(bytes);
	bool is_big_endian = bytes->is_swapped == (BYTE_ORDER == LITTLE_ENDIAN);

	return second << 8 | (is_big_endian ? first << 16 | third : first | third << 16);
}

/* Reads an integer of 1 to 4 or 8 bytes; any other size is an error. */
static inline uint64_t dwarf_bytes_integer(struct dwarf_bytes *bytes, size_t size)
{
	switch (size) {
	case 1:
		return dwarf_bytes_u8(bytes);
	case 2:
		return dwarf_bytes_u16(bytes);
	case 3:
		return dwarf_bytes_u24(bytes);
	case 4:
		return dwarf_bytes_u32(bytes);
	case 8:
		return dwarf_bytes_u64(bytes);
	default:
		bytes->is_short = true;
		return 0;
	}
}

/* LEB128 (DWARF 5, 7.6). What exceeds 64 bits is lost. */
static inline uint64_t dwarf_bytes_uleb(struct dwarf_bytes *bytes)
{
	uint64_t value = 0;

	for (unsigned int shift = 0; bytes->position < bytes->end; shift += 7) {
		uint8_t byte = *bytes->position++;

		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
	bytes->is_short = true;
	return 0;
}

static inline int64_t dwarf_bytes_sleb(struct dwarf_bytes *bytes)
{
	uint64_t value = 0;

	for (unsigned int shift = 0; bytes->position < bytes->end;) {
		uint8_t byte = *bytes->position++;

		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
		if (byte & 0x80)
			continue;
		if (shift < 64 && (byte & 0x40))
			value |= ~UINT64_C(0) << shift;
		return (int64_t)value;
	}
	bytes->is_short = true;
	return 0;
}

/* Ends with a NUL; NULL where there is none before the end, or not within any sensible length. */
static inline const char *dwarf_bytes_string(struct dwarf_bytes *bytes)
{
	const uint8_t *start = bytes->position;
	size_t left = dwarf_bytes_left(bytes);
	const uint8_t *nul;

	nul = left ? memchr(start, '\0',
			     left < DWARF_STRING_BYTES_MAX ? left : DWARF_STRING_BYTES_MAX)
		   : NULL;
	if (!nul) {
		bytes->position = bytes->end;
		bytes->is_short = true;
		return NULL;
	}
	bytes->position = nul + 1;
	return (const char *)start;
}

/*
 * The length of what follows (DWARF 5, 7.4): 4 bytes, or 12 in the 64-bit format, whose offsets
 * have 8 bytes.
 */
static inline uint64_t dwarf_bytes_unit_length(struct dwarf_bytes *bytes, uint8_t *ret_offset_bytes)
{
	uint64_t length = dwarf_bytes_u32(bytes);

	*ret_offset_bytes = 4;
	if (length < 0xfffffff0)
		return length;
	if (length != 0xffffffff)
		bytes->is_short = true;
	*ret_offset_bytes = 8;
	return dwarf_bytes_u64(bytes);
}
