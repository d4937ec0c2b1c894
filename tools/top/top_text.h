/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The text of `pilotlight top`: the lines above the table, the columns of the table, and the whole
 * output if there is no terminal.
 */
#pragma once

#include "tools/top/top_feed.h"
#include "tools/top/top_rows.h"

#include <stddef.h>

struct output;

enum { TOP_TEXT_BYTES = 256, TOP_TEXT_COLUMNS_BYTES = 64, TOP_TEXT_ORIGIN_BYTES = 256 };

/* "pilotlight top  HOST  14:03:22  last 10s". Both return `line`. */
const char *top_text_title(const struct top_answer *answer, char line[TOP_TEXT_BYTES]);
/*
 * "CPU 43.2% of 4, 1712 samples at 99 Hz, 0 lost; costs 0.05%, 31.2 MiB". Of another event:
 * "time off CPU: 12.34 s a second, 1712 samples, …".
 */
const char *top_text_machine(const struct top_answer *answer, char line[TOP_TEXT_BYTES]);

/*
 * The columns before a name, for the head and for a row: shares and, unless `is_narrow`, samples
 * and the kind of code. Both return `columns`, which have the same width in a mode. The head's
 * answer may be NULL.
 */
const char *top_text_head(const struct top_answer *answer, enum top_mode mode, bool is_narrow,
	char columns[TOP_TEXT_COLUMNS_BYTES]);
const char *top_text_columns(const struct top_answer *answer, const struct top_row *row,
	enum top_mode mode, bool is_narrow, char columns[TOP_TEXT_COLUMNS_BYTES]);
/* The columns of a function's unit, thread and binary, which a wide screen has room for; for NULL
 * their heads. Returns `columns`, of the same width in characters. */
const char *top_text_origin(const struct top_profile *profile, const struct top_function *function,
	char columns[TOP_TEXT_ORIGIN_BYTES]);
/* The head of the column of names: "FUNCTION". */
const char *top_text_name_head(enum top_mode mode);

/*
 * Writes the lines above the table and the functions with at least 0.1 % of the samples. Returns 0
 * or -ENOMEM; output_finish() reports errors of the output.
 */
int top_text_write(const struct top_answer *answer, struct output *output);
