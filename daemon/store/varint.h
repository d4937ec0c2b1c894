/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LEB128: seven bits a byte, the lowest first, at most ten bytes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { VARINT_BYTES_MAX = 10 };

/* Returns the number of bytes written. */
size_t varint_put(uint8_t bytes[VARINT_BYTES_MAX], uint64_t value);

/* Reads a value and advances `next`. Returns false if no whole value ends before `end`. */
bool varint_get(const uint8_t **next, const uint8_t *end, uint64_t *ret_value);
