/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "client/query_text.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

/* Always leaves room for the final NUL. */
static void append(struct query_text *query, const char *bytes, size_t size)
{
	if (size >= sizeof(query->text) - query->size) {
		query->error = -E2BIG;
		return;
	}
	memcpy(query->text + query->size, bytes, size);
	query->size += size;
	query->text[query->size] = '\0';
}

static bool is_plain(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       (c && strchr("-._~/:,@", c));
}

static void append_encoded(struct query_text *query, const char *text)
{
	static const char digits[] = "0123456789ABCDEF";

	for (; *text && query->error == 0; text++) {
		unsigned char c = (unsigned char)*text;
		char encoded[] = { '%', digits[c >> 4], digits[c & 15] };

		if (is_plain(*text))
			append(query, text, 1);
		else
			append(query, encoded, sizeof(encoded));
	}
}

void query_text_init(struct query_text *query, const char *path)
{
	query->size = 0;
	query->error = 0;
	query->text[0] = '\0';
	append_encoded(query, path);
}

void query_text_add(struct query_text *query, const char *name, const char *value)
{
	append(query, strchr(query->text, '?') ? "&" : "?", 1);
	append_encoded(query, name);
	if (!value)
		return;
	append(query, "=", 1);
	append_encoded(query, value);
}

int query_text_finish(struct query_text *query, const char **ret_text)
{
	if (query->error < 0)
		return query->error;
	*ret_text = query->text;
	return 0;
}
