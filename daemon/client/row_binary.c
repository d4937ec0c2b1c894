/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "client/row_binary.h"

#include <string.h>

enum { VARINT_BITS = 63 };

bool row_reader_has_more(const struct row_reader *reader)
{
	return !reader->is_broken && reader->at < reader->end;
}

static const uint8_t *take(struct row_reader *reader, size_t size)
{
	const uint8_t *at = reader->at;

	if (reader->is_broken || size > (size_t)(reader->end - at)) {
		reader->is_broken = true;
		return NULL;
	}
	reader->at += size;
	return at;
}

static uint64_t little_endian(struct row_reader *reader, size_t size)
{
	const uint8_t *bytes = take(reader, size);
	uint64_t value = 0;

	for (size_t i = 0; bytes && i < size; i++)
		value |= (uint64_t)bytes[i] << 8 * i;
	return value;
}

uint8_t row_u8(struct row_reader *reader)
{
	return (uint8_t)little_endian(reader, 1);
}

uint16_t row_u16(struct row_reader *reader)
{
	return (uint16_t)little_endian(reader, 2);
}

uint32_t row_u32(struct row_reader *reader)
{
	return (uint32_t)little_endian(reader, 4);
}

uint64_t row_u64(struct row_reader *reader)
{
	return little_endian(reader, 8);
}

double row_f64(struct row_reader *reader)
{
	const uint64_t bits = little_endian(reader, 8);
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

/* LEB128. Zeros that lengthen it are harmless. */
static size_t length(struct row_reader *reader)
{
	uint64_t value = 0;

	for (unsigned shift = 0; shift < VARINT_BITS; shift += 7) {
		const uint8_t byte = row_u8(reader);

		value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return value;
	}
	reader->is_broken = true;
	return 0;
}

struct row_text row_text(struct row_reader *reader)
{
	const size_t size = length(reader);
	const uint8_t *bytes = take(reader, size);

	return bytes ? (struct row_text){ (const char *)bytes, size } : (struct row_text){ "", 0 };
}

size_t row_array(struct row_reader *reader, size_t element_bytes)
{
	const size_t count = length(reader);

	if (count > (size_t)(reader->end - reader->at) / element_bytes)
		reader->is_broken = true;
	return reader->is_broken ? 0 : count;
}
