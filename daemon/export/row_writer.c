/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/row_writer.h"

#include <endian.h>
#include <string.h>

size_t row_format_length(uint64_t length, uint8_t bytes[ROW_VARINT_BYTES])
{
	size_t size = 0;

	for (; length >= 0x80; length >>= 7)
		bytes[size++] = (uint8_t)(length | 0x80);
	bytes[size++] = (uint8_t)length;
	return size;
}

void row_put_length(struct output *output, uint64_t length)
{
	uint8_t bytes[ROW_VARINT_BYTES];

	output_write(output, bytes, row_format_length(length, bytes));
}

void row_put_text(struct output *output, const char *text)
{
	const size_t size = strlen(text);

	row_put_length(output, size);
	output_write(output, text, size);
}

void row_put_u8(struct output *output, uint8_t number)
{
	output_write(output, &number, sizeof(number));
}

void row_put_u16(struct output *output, uint16_t number)
{
	number = htole16(number);
	output_write(output, &number, sizeof(number));
}

void row_put_u32(struct output *output, uint32_t number)
{
	number = htole32(number);
	output_write(output, &number, sizeof(number));
}

void row_put_u64(struct output *output, uint64_t number)
{
	number = htole64(number);
	output_write(output, &number, sizeof(number));
}

void row_put_double(struct output *output, double number)
{
	uint64_t bits;

	memcpy(&bits, &number, sizeof(bits));
	row_put_u64(output, bits);
}
