/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Text for terminals: strings from outside, and short numbers. */
#pragma once

#include "base/output.h"

#include <stddef.h>
#include <stdint.h>

/* Writes hostile text (I8): what utf8_shown() refuses becomes U+FFFD. */
void shown_text_write(struct output *output, const char *bytes, size_t size);
void shown_text_string(struct output *output, const char *string);

/*
 * Hostile lines on their way to a terminal, in parts that may end anywhere. Newlines and tabs pass;
 * all else is written as above. Otherwise a service, or whoever falsified its history, could send
 * escape sequences, with which terminals do more than show text.
 */
struct shown_lines {
	struct output output;
	char held[4]; /* the beginning of a sequence that the next part may complete */
	size_t held_bytes;
};
void shown_lines_init(struct shown_lines *lines, output_function write, void *context);
/* Both return 0 or the error of `write`. The first is an output_function. */
int shown_lines_write(void *lines, const void *bytes, size_t size);
int shown_lines_finish(struct shown_lines *lines);

/* "12 B", "3.4 KiB"; returns `text`. */
enum { SHOWN_TEXT_BYTES_BYTES = 16 };
const char *shown_text_bytes(uint64_t bytes, char text[SHOWN_TEXT_BYTES_BYTES]);
