/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Header fields that are more than a word. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * What Accept-Encoding (RFC 9110, 12.5.3) says of `coding`: 1 it is accepted, 0 it is refused, -1
 * nothing. "*" speaks for it where it is not named itself.
 */
int http_accept_encoding(const char *field, const char *coding);

/* `attachment; filename="…"` with what needs no quoting of `file_name`; cut where it is too long.
 */
void http_content_disposition(const char *file_name, char *text, size_t size);
