/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Encodes GSYM's numbers, little-endian and LEB128, into a buffer that grows up to a limit (I4).
 * The first error sticks and everything after it is ignored, so that an encoder reads as a list of
 * what it writes.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct gsym_bytes {
	uint8_t *bytes; /* owned */
	size_t size, capacity, limit_bytes;
	int error; /* 0, -ENOMEM or -EFBIG */
};

void gsym_bytes_init(struct gsym_bytes *buffer, size_t limit_bytes);
void gsym_bytes_done(struct gsym_bytes *buffer);

/* Forgets what was written; keeps the memory, and the error if there is one. */
void gsym_bytes_clear(struct gsym_bytes *buffer);

void gsym_bytes_u8(struct gsym_bytes *buffer, uint8_t value);
void gsym_bytes_u32(struct gsym_bytes *buffer, uint32_t value);
void gsym_bytes_uleb(struct gsym_bytes *buffer, uint64_t value);
void gsym_bytes_sleb(struct gsym_bytes *buffer, int64_t value);

/* Zeros up to the next multiple of 4. */
void gsym_bytes_pad(struct gsym_bytes *buffer);

/*
 * A part whose length stands in front, in 32 bits. Begin returns what end wants to know; parts do
 * not nest.
 */
size_t gsym_bytes_begin(struct gsym_bytes *buffer);
void gsym_bytes_end(struct gsym_bytes *buffer, size_t begin);
