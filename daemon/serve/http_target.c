/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "serve/http_target.h"

#include "base/hex.h"
#include "base/utf8.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static bool is_utf8(const char *text)
{
	size_t left = strlen(text);

	while (left > 0) {
		size_t bytes = utf8_sequence(text, left);

		if (bytes == 0)
			return false;
		text += bytes;
		left -= bytes;
	}
	return true;
}

/* Decodes in place: decoded text is never longer. */
static int decode(char *text, bool is_query)
{
	char *out = text;

	for (const char *in = text; *in; in++) {
		if (*in == '%') {
			int high = hex_digit_of_any_case(in[1]);
			int low = high < 0 ? -1 : hex_digit_of_any_case(in[2]);

			if (low < 0 || (high | low) == 0)
				return -EILSEQ;
			*out++ = (char)(high << 4 | low);
			in += 2;
		} else {
			*out++ = is_query && *in == '+' ? ' ' : *in;
		}
	}
	*out = '\0';
	return is_utf8(text) ? 0 : -EILSEQ;
}

static int parse_parameter(char *piece, struct http_parameter *ret_parameter)
{
	/* Split before decoding, or an encoded '=' would count as the separator. */
	char *value = strchr(piece, '=');
	int r;

	if (value)
		*value++ = '\0';
	else
		value = piece + strlen(piece);
	r = decode(piece, true);
	if (r == 0)
		r = decode(value, true);
	if (r < 0)
		return r;
	*ret_parameter = (struct http_parameter){ piece, value };
	return 0;
}

static int parse_query(char *query, struct http_target *target)
{
	char *piece;

	while ((piece = strsep(&query, "&"))) {
		int r;

		if (!*piece)
			continue;
		if (target->parameter_count == HTTP_PARAMETERS_MAX)
			return -E2BIG;
		r = parse_parameter(piece, &target->parameters[target->parameter_count]);
		if (r < 0)
			return r;
		target->parameter_count++;
	}
	return 0;
}

int http_target_parse(const char *raw, struct http_target *ret_target)
{
	struct http_target target = { .text = strdup(raw) };
	char *query;
	int r;

	if (!target.text)
		return -ENOMEM;
	target.path = target.text;
	query = strchr(target.text, '?');
	if (query)
		*query++ = '\0';
	r = decode(target.text, false);
	if (r == 0)
		r = parse_query(query, &target);
	if (r < 0) {
		http_target_done(&target);
		return r;
	}
	*ret_target = target;
	return 0;
}

void http_target_done(struct http_target *target)
{
	free(target->text);
	*target = (struct http_target){ 0 };
}
