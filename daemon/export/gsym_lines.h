/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A function's line table in GSYM's form: a machine that makes (address, file, line) of bytes. */
#pragma once

#include "export/gsym_bytes.h"
#include "export/gsym_tables.h"

enum { GSYM_LINE_BYTES_MAX = 24 }; /* of one line */

/* The rows of the range; the first begins at or before it, where there is one. */
struct gsym_rows {
	size_t row, row_end;
	bool has_lines; /* any line that is known */
};

/* `row` is at or before the first one of the range: that of the range before, or 0. */
struct gsym_rows gsym_lines_find(
	const struct gsym_tables *tables, const struct gsym_range *range, size_t row);

/* The whole range is covered: what has no row is of the file of no name. */
void gsym_lines_encode(struct gsym_bytes *bytes, const struct gsym_tables *tables,
	const struct gsym_range *range, const struct gsym_rows *rows);
