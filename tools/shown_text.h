/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What people read on a terminal: strings of others, and numbers in few characters. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct output;

/* Of anybody's, as it may be shown (I8): what is no printable UTF-8 becomes U+FFFD. */
void shown_text_write(struct output *output, const char *bytes, size_t size);
void shown_text_string(struct output *output, const char *string);

/* "12 B", "3.4 KiB"; returns `text`. */
enum { SHOWN_TEXT_BYTES_BYTES = 16 };
const char *shown_text_bytes(uint64_t bytes, char text[SHOWN_TEXT_BYTES_BYTES]);
