/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "serve/http_fields.h"

#include <ctype.h>
#include <string.h>

void http_content_disposition(const char *file_name, char *text, size_t size)
{
	static const char start[] = "attachment; filename=\"";
	size_t used = sizeof(start) - 1;

	memcpy(text, start, used);
	for (; *file_name && used + 2 < size; file_name++) {
		unsigned char c = (unsigned char)*file_name;

		text[used++] = isalnum(c) || strchr("._-+ ", c) ? (char)c : '_';
	}
	text[used++] = '"';
	text[used] = '\0';
}
