/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes protobuf messages into a buffer that grows up to a limit (I4): tags, varints,
 * length-delimited fields and nested messages. Begin and end enclose a nested message; end inserts
 * its length in front. The first error sticks and later calls do nothing, so that an encoder reads
 * as a list of its fields.
 *
 * Format: https://protobuf.dev/programming-guides/encoding
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct protobuf {
	uint8_t *bytes; /* owned */
	size_t size, capacity, limit_bytes;
	int error; /* 0, -ENOMEM or -E2BIG */
};

void protobuf_init(struct protobuf *message, size_t limit_bytes);
void protobuf_done(struct protobuf *message);

/* Empties the message; keeps its memory, and its error if there is one. */
void protobuf_clear(struct protobuf *message);

/* Writes a bare varint: an element of a packed field, between begin and end. */
void protobuf_varint(struct protobuf *message, uint64_t value);

/* Writes an integer, enum or bool. 0 is proto3's default and takes no bytes. */
void protobuf_u64(struct protobuf *message, uint32_t field, uint64_t value);

/* Writes a bare fixed64, as above. */
void protobuf_bare_fixed64(struct protobuf *message, uint64_t value);

/* Writes a fixed64. 0 takes no bytes. */
void protobuf_fixed64(struct protobuf *message, uint32_t field, uint64_t value);

/* Writes a string or bytes, even if empty, since an element of a repeated field counts. */
void protobuf_bytes(struct protobuf *message, uint32_t field, const void *bytes, size_t size);

/*
 * Begins a nested message or packed field; pass the result to protobuf_end(). Each begin needs an
 * end, inner before outer.
 */
size_t protobuf_begin(struct protobuf *message, uint32_t field);
void protobuf_end(struct protobuf *message, size_t begin);
