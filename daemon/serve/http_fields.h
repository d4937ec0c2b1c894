/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Header fields that are more than a word. */
#pragma once

#include <stddef.h>

/* `attachment; filename="…"` with what needs no quoting of `file_name`; cut where it is too long.
 */
void http_content_disposition(const char *file_name, char *text, size_t size);
