/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/gsym_bytes.h"

#include "base/array.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { LEB_BYTES_MAX = 10, ALIGNMENT = 4 };

void gsym_bytes_init(struct gsym_bytes *buffer, size_t limit_bytes)
{
	*buffer = (struct gsym_bytes){ .limit_bytes = limit_bytes };
}

void gsym_bytes_done(struct gsym_bytes *buffer)
{
	free(buffer->bytes);
	*buffer = (struct gsym_bytes){ 0 };
}

void gsym_bytes_clear(struct gsym_bytes *buffer)
{
	buffer->size = 0;
}

static void append(struct gsym_bytes *buffer, const void *bytes, size_t size)
{
	int r;

	if (buffer->error < 0)
		return;
	r = ARRAY_RESERVE(
		buffer->bytes, &buffer->capacity, buffer->size + size, buffer->limit_bytes);
	if (r < 0) {
		buffer->error = r == -E2BIG ? -EFBIG : r;
		return;
	}
	memcpy(buffer->bytes + buffer->size, bytes, size);
	buffer->size += size;
}

void gsym_bytes_u8(struct gsym_bytes *buffer, uint8_t value)
{
	append(buffer, &value, sizeof(value));
}

void gsym_bytes_u32(struct gsym_bytes *buffer, uint32_t value)
{
	value = htole32(value);
	append(buffer, &value, sizeof(value));
}

void gsym_bytes_uleb(struct gsym_bytes *buffer, uint64_t value)
{
	uint8_t bytes[LEB_BYTES_MAX];
	size_t size = 0;

	while (value >= 0x80) {
		bytes[size++] = (uint8_t)(value | 0x80);
		value >>= 7;
	}
	bytes[size++] = (uint8_t)value;
	append(buffer, bytes, size);
}

void gsym_bytes_sleb(struct gsym_bytes *buffer, int64_t value)
{
	uint8_t bytes[LEB_BYTES_MAX];
	size_t size = 0;

	/* The last byte's sixth bit is the sign of all that is not written. */
	while (value < -0x40 || value >= 0x40) {
		bytes[size++] = (uint8_t)((value & 0x7f) | 0x80);
		value >>= 7;
	}
	bytes[size++] = (uint8_t)(value & 0x7f);
	append(buffer, bytes, size);
}

void gsym_bytes_pad(struct gsym_bytes *buffer)
{
	static const uint8_t zeros[ALIGNMENT];

	append(buffer, zeros, -buffer->size % ALIGNMENT);
}

size_t gsym_bytes_begin(struct gsym_bytes *buffer)
{
	gsym_bytes_u32(buffer, 0);
	return buffer->size;
}

void gsym_bytes_end(struct gsym_bytes *buffer, size_t begin)
{
	uint32_t size = htole32((uint32_t)(buffer->size - begin));

	if (buffer->error == 0)
		memcpy(buffer->bytes + begin - sizeof(size), &size, sizeof(size));
}
