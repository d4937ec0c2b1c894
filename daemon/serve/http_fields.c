/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "serve/http_fields.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static const char *const BLANKS = " \t";

/* Is there a weight ("q=0", "q=0.000"), and is it nothing? */
static bool is_weightless(const char *parameters, size_t size)
{
	size_t zeros;

	while (size > 0 && strchr("; \t", *parameters)) {
		parameters++;
		size--;
	}
	if (size < 3 || strncasecmp(parameters, "q=0", 3) != 0)
		return false;
	zeros = strspn(parameters + 3, ".0") + 3;
	return zeros >= size || strchr("; \t", parameters[zeros]);
}

int http_accept_encoding(const char *field, const char *coding)
{
	int of_any = -1;

	while (*field) {
		size_t size = strcspn(field, ",");
		size_t blanks = strspn(field, BLANKS);
		size_t name = strcspn(field + blanks, ",; \t");
		const char *start = field + blanks;
		int accepted = !is_weightless(start + name, size - blanks - name);

		if (name == strlen(coding) && strncasecmp(start, coding, name) == 0)
			return accepted;
		if (name == 1 && *start == '*')
			of_any = accepted;
		field += size;
		if (*field == ',')
			field++;
	}
	return of_any;
}

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
