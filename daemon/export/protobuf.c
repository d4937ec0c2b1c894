/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/protobuf.h"

#include "base/array.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	WIRE_VARINT = 0,
	WIRE_FIXED64 = 1,
	WIRE_LENGTH_DELIMITED = 2,
	VARINT_BYTES_MAX = 10,
	FIELD_MAX = (1 << 29) - 1,
};

void protobuf_init(struct protobuf *message, size_t limit_bytes)
{
	*message = (struct protobuf){ .limit_bytes = limit_bytes };
}

void protobuf_done(struct protobuf *message)
{
	free(message->bytes);
	*message = (struct protobuf){ 0 };
}

void protobuf_clear(struct protobuf *message)
{
	message->size = 0;
}

static size_t encode_varint(uint8_t bytes[VARINT_BYTES_MAX], uint64_t value)
{
	size_t size = 0;

	while (value >= 0x80) {
		bytes[size++] = (uint8_t)(value | 0x80);
		value >>= 7;
	}
	bytes[size++] = (uint8_t)value;
	return size;
}

/* Returns room for `size` more bytes, or NULL after an error. */
static uint8_t *extend(struct protobuf *message, size_t size)
{
	uint8_t *end;

	if (message->error < 0)
		return NULL;
	if (size > message->limit_bytes - message->size)
		message->error = -E2BIG;
	else
		message->error = ARRAY_RESERVE(message->bytes, &message->capacity,
			message->size + size, message->limit_bytes);
	if (message->error < 0)
		return NULL;
	end = message->bytes + message->size;
	message->size += size;
	return end;
}

static void append(struct protobuf *message, const void *bytes, size_t size)
{
	uint8_t *end;

	if (size == 0)
		return;
	end = extend(message, size);
	if (end)
		memcpy(end, bytes, size);
}

void protobuf_varint(struct protobuf *message, uint64_t value)
{
	uint8_t bytes[VARINT_BYTES_MAX];

	append(message, bytes, encode_varint(bytes, value));
}

static void append_tag(struct protobuf *message, uint32_t field, unsigned int wire_type)
{
	assert(field > 0 && field <= FIELD_MAX);
	protobuf_varint(message, (uint64_t)field << 3 | wire_type);
}

void protobuf_u64(struct protobuf *message, uint32_t field, uint64_t value)
{
	if (value == 0)
		return;
	append_tag(message, field, WIRE_VARINT);
	protobuf_varint(message, value);
}

void protobuf_bare_fixed64(struct protobuf *message, uint64_t value)
{
	uint8_t bytes[sizeof(value)];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(value >> 8 * i);
	append(message, bytes, sizeof(bytes));
}

void protobuf_fixed64(struct protobuf *message, uint32_t field, uint64_t value)
{
	if (value == 0)
		return;
	append_tag(message, field, WIRE_FIXED64);
	protobuf_bare_fixed64(message, value);
}

void protobuf_bytes(struct protobuf *message, uint32_t field, const void *bytes, size_t size)
{
	append_tag(message, field, WIRE_LENGTH_DELIMITED);
	protobuf_varint(message, size);
	append(message, bytes, size);
}

size_t protobuf_begin(struct protobuf *message, uint32_t field)
{
	append_tag(message, field, WIRE_LENGTH_DELIMITED);
	/* One byte suffices for the length of nearly every message. */
	(void)extend(message, 1);
	return message->size;
}

void protobuf_end(struct protobuf *message, size_t begin)
{
	uint8_t bytes[VARINT_BYTES_MAX];
	size_t content, length_bytes;

	if (message->error < 0)
		return;
	assert(begin > 0 && begin <= message->size);
	content = message->size - begin;
	length_bytes = encode_varint(bytes, content);
	if (length_bytes > 1) {
		if (!extend(message, length_bytes - 1))
			return;
		memmove(message->bytes + begin - 1 + length_bytes, message->bytes + begin, content);
	}
	memcpy(message->bytes + begin - 1, bytes, length_bytes);
}
