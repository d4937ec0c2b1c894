/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/varint.h"

size_t varint_put(uint8_t bytes[VARINT_BYTES_MAX], uint64_t value)
{
	size_t n = 0;

	for (; value >= 0x80; value >>= 7)
		bytes[n++] = (uint8_t)(value | 0x80);
	bytes[n++] = (uint8_t)value;
	return n;
}

bool varint_get(const uint8_t **next, const uint8_t *end, uint64_t *ret_value)
{
	uint64_t value = 0;

	for (unsigned int shift = 0; shift < 64 && *next < end; shift += 7) {
		uint8_t byte = *(*next)++;

		if (shift == 63 && byte > 1)
			return false;
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80) {
			*ret_value = value;
			return true;
		}
	}
	return false;
}
