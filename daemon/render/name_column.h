/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The last columns of a text table: the name of a function and the path of its binary. The width of
 * the names is limited; longer names push their binary to the right.
 */
#pragma once

#include "base/output.h"

enum { NAME_COLUMN_MAX = 64 };

/* Returns the width for the names so far and one more. */
size_t name_column_widen(size_t width, const char *name);

/* Writes the name and, behind the column, the path if there is one. */
void name_column_write(struct output *output, const char *name, size_t width, const char *path);
