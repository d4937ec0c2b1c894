/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Formats header fields. */
#pragma once

#include <stddef.h>

/* Writes `attachment; filename="…"` with the characters of `file_name` that need no quoting.
 * Truncates a long name. */
void http_content_disposition(const char *file_name, char *text, size_t size);
