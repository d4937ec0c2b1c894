/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Text for terminals: strings from outside, and short numbers. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct output;

/* Writes hostile text (I8): bytes that are not printable UTF-8 become U+FFFD. */
void shown_text_write(struct output *output, const char *bytes, size_t size);
void shown_text_string(struct output *output, const char *string);

/* "12 B", "3.4 KiB"; returns `text`. */
enum { SHOWN_TEXT_BYTES_BYTES = 16 };
const char *shown_text_bytes(uint64_t bytes, char text[SHOWN_TEXT_BYTES_BYTES]);
