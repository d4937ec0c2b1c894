/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A path with a query as it stands in a request, percent-encoded (RFC 3986) and bounded. */
#pragma once

#include <stddef.h>

/* A server of ours takes 16 KiB of a head in all. */
enum { QUERY_TEXT_BYTES = 12 << 10 };

struct query_text {
	size_t size;
	int error; /* the first: -E2BIG */
	char text[QUERY_TEXT_BYTES];
};

/* `path` is plain and starts with '/'. */
void query_text_init(struct query_text *query, const char *path);
/* `value` may be anything, and NULL for a parameter without one. */
void query_text_add(struct query_text *query, const char *name, const char *value);
/* Returns 0 and the text, borrowed from `query`, or -E2BIG where it did not fit. */
int query_text_finish(struct query_text *query, const char **ret_text);
