/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who may ask. A browser lets any page send requests to local addresses. Three checks keep such a
 * page from reading anything, and from causing a query where the browser says whose request it is:
 *
 * 1. On TCP, Host must be an address, "localhost" or a configured name. A hostile site can point
 *    its own name at our address (DNS rebinding); the browser then takes the answers for the site's
 *    own, but still sends that name.
 * 2. A request that a page of another origin makes has an Origin that is not our Host, or a
 *    Sec-Fetch-Site that says so. Only a link that the user follows passes: a top-level navigation,
 *    whose answer the other page cannot read.
 * 3. On TCP, the bearer token (RFC 6750), if one is configured.
 *
 * Clients that are no browsers send neither Origin nor Sec-Fetch-*.
 */
#pragma once

#include "serve/http_server.h"

#include <stdbool.h>

/* Header fields that the checks read. A request has each at most once. */
enum http_access_field {
	HTTP_ACCESS_HOST,
	HTTP_ACCESS_ORIGIN,
	HTTP_ACCESS_SITE,
	HTTP_ACCESS_MODE,
	HTTP_ACCESS_DESTINATION,
	HTTP_ACCESS_AUTHORIZATION,
	HTTP_ACCESS_FIELDS,
};

struct http_access_request {
	bool is_local;				/* on the unix socket */
	const char *values[HTTP_ACCESS_FIELDS]; /* NULL: the field is missing */
	bool has_twice;
};

/* Adds a header field. Ignores those that the checks do not read. */
void http_access_add(struct http_access_request *request, const char *name, const char *value);

enum http_access_result {
	HTTP_ACCESS_ALLOWED,
	HTTP_ACCESS_TWICE,
	HTTP_ACCESS_NO_HOST,
	HTTP_ACCESS_OTHER_HOST,
	HTTP_ACCESS_OTHER_ORIGIN,
	HTTP_ACCESS_CLOSED, /* to TCP: access->refusal says why */
	HTTP_ACCESS_NO_TOKEN,
	HTTP_ACCESS_OTHER_TOKEN,
};
enum http_access_result http_access_check(
	const struct http_access *access, const struct http_access_request *request);
