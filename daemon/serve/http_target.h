/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The target of a request: its path and query parameters, percent-decoded (RFC 3986). A '+' in the
 * query is a space, as in HTML forms.
 */
#pragma once

enum { HTTP_PARAMETERS_MAX = 64 };

struct http_target {
	char *text; /* owned; all strings below point into it */
	const char *path;
	struct http_parameter {
		const char *name, *value;
	} parameters[HTTP_PARAMETERS_MAX]; /* in the order of the query */
	unsigned parameter_count;
};

/*
 * Returns 0; -EILSEQ for a percent sign without two hexadecimal digits, a decoded NUL or invalid
 * UTF-8; -E2BIG for more than HTTP_PARAMETERS_MAX parameters; -ENOMEM.
 */
int http_target_parse(const char *raw, struct http_target *ret_target);
void http_target_done(struct http_target *target);
