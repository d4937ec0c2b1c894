/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The last columns of a text table: a function's name and the path of its binary. The column of
 * names is as wide as most of them need; the few that are longer push their binary to the right.
 */
#pragma once

#include "base/output.h"

enum { NAME_COLUMN_MAX = 64 };

/* The width for the names so far and one more. */
size_t name_column_widen(size_t width, const char *name);

/* The name, and behind the column the path where there is one. */
void name_column_write(struct output *output, const char *name, size_t width, const char *path);
