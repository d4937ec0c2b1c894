/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "serve/http_access.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

enum { NAME_BYTES = 256, PORT_DIGITS_MAX = 5 };

static const char *const field_names[HTTP_ACCESS_FIELDS] = {
	[HTTP_ACCESS_HOST] = "Host",
	[HTTP_ACCESS_ORIGIN] = "Origin",
	[HTTP_ACCESS_SITE] = "Sec-Fetch-Site",
	[HTTP_ACCESS_MODE] = "Sec-Fetch-Mode",
	[HTTP_ACCESS_DESTINATION] = "Sec-Fetch-Dest",
	[HTTP_ACCESS_AUTHORIZATION] = "Authorization",
};

void http_access_add(struct http_access_request *request, const char *name, const char *value)
{
	for (int i = 0; i < HTTP_ACCESS_FIELDS; i++)
		if (strcasecmp(name, field_names[i]) == 0) {
			request->has_twice |= request->values[i] != NULL;
			request->values[i] = value ? value : "";
		}
}

static bool is_address(int family, const char *text)
{
	struct in6_addr address;

	return inet_pton(family, text, &address) == 1;
}

static bool is_own_name(const struct http_access *access, const char *name)
{
	if (strcasecmp(name, "localhost") == 0 || is_address(AF_INET, name))
		return true;
	for (size_t i = 0; i < access->host_name_count; i++)
		if (strcasecmp(name, access->host_names[i]) == 0)
			return true;
	return false;
}

/* "" or ":7447" */
static bool is_port(const char *text)
{
	size_t digits;

	if (!*text)
		return true;
	digits = strspn(text + 1, "0123456789");
	return *text == ':' && digits > 0 && digits <= PORT_DIGITS_MAX && !text[1 + digits];
}

/* Any port will do: a proxy or a tunnel may have another one than we. */
static bool is_own_host(const struct http_access *access, const char *host)
{
	bool is_bracketed = *host == '[';
	const char *start = host + is_bracketed;
	size_t size = strcspn(start, is_bracketed ? "]" : ":");
	char name[NAME_BYTES];

	if (size >= sizeof(name) || (is_bracketed && start[size] != ']'))
		return false;
	memcpy(name, start, size);
	name[size] = '\0';
	return is_port(start + size + is_bracketed) &&
	       (is_bracketed ? is_address(AF_INET6, name) : is_own_name(access, name));
}

/* Is it a page that we served? The scheme is https behind a proxy that ends TLS. */
static bool is_own_origin(const char *origin, const char *host)
{
	const char *authority = strncmp(origin, "http://", 7) == 0    ? origin + 7
				: strncmp(origin, "https://", 8) == 0 ? origin + 8
								      : NULL;

	return authority && host && strcasecmp(authority, host) == 0;
}

static bool is(const char *value, const char *expected)
{
	return value && strcmp(value, expected) == 0;
}

/* Does a page of another origin make this request, other than by a link that the user follows? */
static bool is_of_other_page(const char *const values[HTTP_ACCESS_FIELDS])
{
	const char *site = values[HTTP_ACCESS_SITE];

	if (!site || is(site, "none") || is(site, "same-origin"))
		return false;
	return !is(values[HTTP_ACCESS_MODE], "navigate") ||
	       !is(values[HTTP_ACCESS_DESTINATION], "document");
}

/* In a time that depends on the lengths alone, so that answers do not reveal a token by and by. */
static bool is_same_token(const char *given, const char *token)
{
	size_t size = strlen(token);
	volatile unsigned char difference = 0;

	if (strlen(given) != size)
		return false;
	for (size_t i = 0; i < size; i++)
		difference |= (unsigned char)(given[i] ^ token[i]);
	return difference == 0;
}

static enum http_access_result check_token(const char *authorization, const char *token)
{
	if (!authorization)
		return HTTP_ACCESS_NO_TOKEN;
	if (strncasecmp(authorization, "Bearer ", 7) != 0)
		return HTTP_ACCESS_OTHER_TOKEN;
	authorization += 7;
	authorization += strspn(authorization, " ");
	return is_same_token(authorization, token) ? HTTP_ACCESS_ALLOWED : HTTP_ACCESS_OTHER_TOKEN;
}

enum http_access_result http_access_check(
	const struct http_access *access, const struct http_access_request *request)
{
	const char *const *values = request->values;
	const char *host = values[HTTP_ACCESS_HOST], *origin = values[HTTP_ACCESS_ORIGIN];

	if (request->has_twice)
		return HTTP_ACCESS_TWICE;
	/* No page reaches the unix socket but by a proxy, and clients invent names for it. */
	if (!request->is_local && !host)
		return HTTP_ACCESS_NO_HOST;
	if (!request->is_local && !is_own_host(access, host))
		return HTTP_ACCESS_OTHER_HOST;
	if ((origin && !is_own_origin(origin, host)) || is_of_other_page(values))
		return HTTP_ACCESS_OTHER_ORIGIN;
	if (request->is_local)
		return HTTP_ACCESS_ALLOWED;
	if (access->refusal)
		return HTTP_ACCESS_CLOSED;
	return access->token ? check_token(values[HTTP_ACCESS_AUTHORIZATION], access->token)
			     : HTTP_ACCESS_ALLOWED;
}
