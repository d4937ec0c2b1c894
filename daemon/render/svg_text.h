/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Text and numbers as an SVG file has them. Strings are those of a string pool: clean UTF-8 (I8).
 */
#pragma once

#include "base/output.h"

/* Escaped for an element's content and for an attribute in double quotes. */
void svg_write_text(struct output *output, const char *text);

/* The same, inside of a JSON string, without its quotes. */
void svg_write_json(struct output *output, const char *text);

/* `hundredths` / 100 without zeros at the end: 1250 is 12.5. */
void svg_write_hundredths(struct output *output, uint64_t hundredths);

/* How many columns of a fixed-width font it takes: one a character, two for the wide ones. */
size_t svg_text_columns(const char *text);

/* Cuts `text` in place to `columns` (1 at least), with "…" as the last of them where it was longer.
 */
void svg_elide_text(char *text, size_t text_room, size_t columns);
