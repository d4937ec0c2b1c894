/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `pilotlight top` in words: the lines above a table, a table's columns, and the whole of it where
 * there is no terminal to draw on.
 */
#pragma once

#include "tools/top/top_feed.h"
#include "tools/top/top_rows.h"

#include <stddef.h>

struct output;

enum { TOP_TEXT_BYTES = 256, TOP_TEXT_COLUMNS_BYTES = 64 };

/* "pilotlight top  HOST  14:03:22  last 10s". Both return `line`. */
const char *top_text_title(const struct top_answer *answer, char line[TOP_TEXT_BYTES]);
/* "CPU 43.2% of 4, 1712 samples at 99 Hz, 0 lost; costs 0.05%, 31.2 MiB" */
const char *top_text_machine(const struct top_answer *answer, char line[TOP_TEXT_BYTES]);

/*
 * The columns before a name: shares, and where there is room samples and what kind of code it is;
 * of the line above them, and of a row. Both return `columns`, and are of one width for a mode.
 */
const char *top_text_head(enum top_mode mode, bool is_narrow, char columns[TOP_TEXT_COLUMNS_BYTES]);
const char *top_text_columns(const struct top_answer *answer, const struct top_row *row,
	enum top_mode mode, bool is_narrow, char columns[TOP_TEXT_COLUMNS_BYTES]);
/* What stands above the names: "FUNCTION". */
const char *top_text_name_head(enum top_mode mode);

/*
 * Writes the lines above and the functions, as long as they have 0.1 % of the samples. Returns 0 or
 * -ENOMEM; errors of the output are output_finish()'s to report.
 */
int top_text_write(const struct top_answer *answer, struct output *output);
