/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes protobuf messages: tags, varints, length-delimited fields and messages within messages,
 * into a buffer that grows up to a limit (I4). Messages are nested by begin and end; the length is
 * put in front when it is known. The first error sticks and everything after it is ignored, so that
 * an encoder reads as a list of its fields.
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

/* Forgets what was written; keeps the memory, and the error if there is one. */
void protobuf_clear(struct protobuf *message);

/* A bare varint: an element of a packed field, between its begin and end. */
void protobuf_varint(struct protobuf *message, uint64_t value);

/* An integer or enum or bool. 0 is the default and takes no bytes, as proto3 has it. */
void protobuf_u64(struct protobuf *message, uint32_t field, uint64_t value);

/* A string or bytes; written even if empty, since an element of a repeated field counts. */
void protobuf_bytes(struct protobuf *message, uint32_t field, const void *bytes, size_t size);

/*
 * A message or a packed field. Returns what protobuf_end() wants to know; each begin has its end,
 * the inner before the outer.
 */
size_t protobuf_begin(struct protobuf *message, uint32_t field);
void protobuf_end(struct protobuf *message, size_t begin);
