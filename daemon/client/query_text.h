/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Builds the path and query of a request, percent-encoded (RFC 3986) and bounded. */
#pragma once

#include <stddef.h>

/* The service accepts a request head of 16 KiB in all. */
enum { QUERY_TEXT_BYTES = 12 << 10 };

struct query_text {
	size_t size;
	int error; /* the first error: -E2BIG; or 0 */
	char text[QUERY_TEXT_BYTES];
};

/* `path` starts with '/' and needs no encoding. */
void query_text_init(struct query_text *query, const char *path);
/* `value` may hold any bytes; NULL adds a parameter without a value. */
void query_text_add(struct query_text *query, const char *name, const char *value);
/* Returns 0 and the text, borrowed from `query`, or -E2BIG if it did not fit. */
int query_text_finish(struct query_text *query, const char **ret_text);
