/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a request asks for: the path and the parameters of its query, percent-decoded (RFC 3986; a
 * '+' in the query is a space, as forms write it).
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
 * Returns 0; -EILSEQ where a percent sign has no two hexadecimal digits behind it, or what they
 * stand for is a NUL or not UTF-8; -E2BIG for more parameters than there may be; -ENOMEM.
 */
int http_target_parse(const char *raw, struct http_target *ret_target);
void http_target_done(struct http_target *target);
