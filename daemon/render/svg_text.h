/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes text and numbers of an SVG file. Strings come from a string pool: clean UTF-8 (I8). */
#pragma once

#include "base/output.h"

/* Escapes text for the content of an element or an attribute in double quotes. */
void svg_write_text(struct output *output, const char *text);

/* The same, inside of a JSON string, without its quotes. */
void svg_write_json(struct output *output, const char *text);

/* `hundredths` / 100 without zeros at the end: 1250 is 12.5. */
void svg_write_hundredths(struct output *output, uint64_t hundredths);

/* Columns of a fixed-width font: one for each character, two for wide ones. */
size_t svg_text_columns(const char *text);

/* Shortens `text` in place to `columns` (at least 1); a shortened text ends in "…". */
void svg_elide_text(char *text, size_t text_room, size_t columns);
