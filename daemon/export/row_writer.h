/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes values in ClickHouse's format RowBinary. An array is its length, then its elements. */
#pragma once

#include "base/output.h"

#include <stdint.h>

enum { ROW_VARINT_BYTES = 10 };

/* Returns how many bytes a length has. */
size_t row_format_length(uint64_t length, uint8_t bytes[ROW_VARINT_BYTES]);

void row_put_length(struct output *output, uint64_t length);
void row_put_text(struct output *output, const char *text);
void row_put_u8(struct output *output, uint8_t number);
void row_put_u16(struct output *output, uint16_t number);
void row_put_u32(struct output *output, uint32_t number);
void row_put_u64(struct output *output, uint64_t number);
void row_put_double(struct output *output, double number);
