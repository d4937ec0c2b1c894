/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/array.h"
#include "base/utf8.h"
#include "serve/http_private.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { TEXT_BYTES = 1024 };

static const char *const PLAIN_TEXT = "text/plain; charset=utf-8";

static const char *const NO_CONTENT_POLICY =
	"default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/* A body being sent, from memory or from a file. */
struct body {
	struct http_server *server;
	char *bytes;
	int fd; /* -1: none */
	size_t size;
};

static ssize_t read_file(const struct body *body, uint64_t position, char *buffer, size_t size)
{
	ssize_t n;

	do
		n = pread(body->fd, buffer, size, (off_t)position);
	while (n < 0 && errno == EINTR);
	/* The length is already sent, so a truncated body must fail and not look complete. */
	return n > 0 ? n : MHD_CONTENT_READER_END_WITH_ERROR;
}

static ssize_t read_body(void *context, uint64_t position, char *buffer, size_t size)
{
	struct body *body = context;
	size_t left = position < body->size ? body->size - (size_t)position : 0;

	if (left == 0)
		return MHD_CONTENT_READER_END_OF_STREAM;
	if (size > left)
		size = left;
	if (body->fd >= 0) {
		ssize_t n = read_file(body, position, buffer, size);

		if (n < 0)
			return n;
		size = (size_t)n;
	} else {
		memcpy(buffer, body->bytes + position, size);
	}
	body->server->counters.bytes += size;
	return (ssize_t)size;
}

static void free_body(void *context)
{
	struct body *body = context;

	body->server->answer_bytes -= body->size;
	if (body->fd >= 0)
		body->server->counters.file_bytes -= body->size;
	free(body->bytes);
	if (body->fd >= 0)
		(void)close(body->fd);
	free(body);
}

/* Takes `bytes` or `fd`; one of them is set. Returns NULL if out of memory. */
static struct MHD_Response *response_of_body(
	struct http_server *server, char *bytes, int fd, size_t size)
{
	struct body *body = malloc(sizeof(*body));
	size_t block = size < BODY_BLOCK_BYTES ? size + 1 : BODY_BLOCK_BYTES;
	struct MHD_Response *response;

	if (!body) {
		free(bytes);
		if (fd >= 0)
			(void)close(fd);
		return NULL;
	}
	*body = (struct body){ server, bytes, fd, size };
	server->answer_bytes += size;
	if (fd >= 0)
		server->counters.file_bytes += size;
	response = microhttpd()->create_response_from_callback(
		size, block, read_body, body, free_body);
	if (!response)
		free_body(body);
	return response;
}

/* Adds no field if `value` is NULL. */
static bool add_field(struct MHD_Response *response, const char *name, const char *value)
{
	return !value || microhttpd()->add_response_header(response, name, value) == MHD_YES;
}

static bool add_fields(struct MHD_Response *response, const struct http_answer *answer)
{
	const struct http_field common[] = {
		{ MHD_HTTP_HEADER_CONTENT_TYPE, answer->content_type },
		{ MHD_HTTP_HEADER_CACHE_CONTROL, "no-store" },
		{ "X-Content-Type-Options", "nosniff" },
		{ "Content-Security-Policy",
			answer->content_policy ? answer->content_policy : NO_CONTENT_POLICY },
		/* Pages of other origins can neither embed an answer nor show it in a frame. */
		{ "Cross-Origin-Resource-Policy", "same-origin" },
		{ "X-Frame-Options", "DENY" },
		/* Our addresses hold names of units and programs. */
		{ "Referrer-Policy", "no-referrer" },
	};

	for (size_t i = 0; i < answer->field_count; i++)
		if (!add_field(response, answer->fields[i].name, answer->fields[i].value))
			return false;
	for (size_t i = 0; i < ARRAY_SIZE(common); i++)
		if (!add_field(response, common[i].name, common[i].value))
			return false;
	return true;
}

static struct MHD_Response *response_of(
	struct http_server *server, const struct http_answer *answer, int fd)
{
	struct MHD_Response *response = response_of_body(server, answer->body, fd, answer->size);

	if (response && !add_fields(response, answer)) {
		microhttpd()->destroy_response(response);
		return NULL;
	}
	return response;
}

/* Cleans one or more lines of untrusted text. Returns NULL if out of memory. */
static char *clean_lines(const char *text, size_t *ret_size)
{
	char *lines = malloc(TEXT_BYTES * 3 + 2);
	size_t used = 0;

	if (!lines)
		return NULL;
	while (*text) {
		char line[UTF8_CLEAN_BYTES];
		size_t size = strcspn(text, "\n");
		size_t clean = utf8_clean(line, text, size);

		memcpy(lines + used, line, clean);
		used += clean;
		lines[used++] = '\n';
		text += size;
		if (*text)
			text++;
	}
	*ret_size = used;
	return lines;
}

static struct MHD_Response *response_of_text(const struct http_request *request, const char *format,
	va_list arguments) __attribute__((format(printf, 2, 0)));

static struct MHD_Response *response_of_text(
	const struct http_request *request, const char *format, va_list arguments)
{
	const char *field = request->route ? request->route->text_field : NULL;
	struct http_answer answer = { .content_type = PLAIN_TEXT };
	struct MHD_Response *response;
	char text[TEXT_BYTES];

	(void)vsnprintf(text, sizeof(text), format, arguments);
	answer.body = clean_lines(text, &answer.size);
	response = answer.body ? response_of(request->server, &answer, -1) : NULL;
	if (response && field && !add_field(response, field, "1")) {
		microhttpd()->destroy_response(response);
		return NULL;
	}
	return response;
}

static void resume(struct http_request *request)
{
	microhttpd()->resume_connection(request->connection->handle);
	/* This fails only if the counter is full; then the eventfd is already readable. */
	(void)eventfd_write(request->server->resume_fd, 1);
}

/* Takes `response`. The server's next run resumes the connection. */
static void set_response(struct http_request *request, unsigned status,
	struct MHD_Response *response, size_t answer_bytes)
{
	assert(!request->is_answered);
	request->is_answered = true;
	request->status = status;
	request->response = response;
	request->answer_bytes = answer_bytes;
	request->connection->answer_bytes = answer_bytes;
	if (request->is_suspended)
		resume(request);
}

static size_t room_of(size_t limit, size_t used)
{
	return used < limit ? limit - used : 0;
}

static size_t share_of_user(const struct http_request *request)
{
	return request->server->limits.answer_bytes /
	       (http_peer_is_guest(&request->connection->peer) ? GUEST_SHARE : USERS_SHARE);
}

/* Returns the unused part of the user's share. */
static size_t room_of_user(const struct http_request *request)
{
	return room_of(share_of_user(request), http_connection_user_bytes(request->connection));
}

/* Returns the unused part of what is there for all, or for all guests. */
static size_t room_of_all(const struct http_request *request)
{
	const struct http_server *server = request->server;
	size_t limit = server->limits.answer_bytes, room = room_of(limit, server->answer_bytes);
	size_t guests;

	if (!http_peer_is_guest(&request->connection->peer))
		return room;
	guests = room_of(limit / GUESTS_SHARE, http_connections_guest_bytes(server));
	return guests < room ? guests : room;
}

static size_t small_body(const struct http_limits *limits)
{
	size_t bytes = limits->answer_bytes / SMALL_BODIES_SHARE / limits->connections;

	return bytes < SMALL_BODY_BYTES ? bytes : SMALL_BODY_BYTES;
}

size_t http_answer_room(const struct http_request *request)
{
	const struct http_server *server = request->server;
	size_t room = room_of_all(request);
	size_t own = room_of_user(request), small = small_body(&server->limits);

	if (own < room)
		room = own;
	return room < small ? small : room;
}

static void refuse_body(struct http_request *request, size_t size)
{
	const struct http_server *server = request->server;
	size_t limit = server->limits.answer_bytes;

	if (size > room_of_user(request))
		http_answer_text(request, MHD_HTTP_TOO_MANY_REQUESTS,
			"Answer too large: %zu bytes, and you have not read %zu bytes of earlier "
			"answers (limit for one user: %zu). Read those first, or ask for less.",
			size, http_connection_user_bytes(request->connection),
			share_of_user(request));
	else
		http_answer_text(request, MHD_HTTP_SERVICE_UNAVAILABLE,
			"Answer too large: %zu bytes, and clients have not read %zu bytes of "
			"earlier answers (limit for all: %zu). Try again later, or ask for less.",
			size, server->answer_bytes, limit);
}

/* Takes the body or `fd`. */
static void answer_body(struct http_request *request, const struct http_answer *answer, int fd)
{
	if (answer->size > http_answer_room(request)) {
		free(answer->body);
		if (fd >= 0)
			(void)close(fd);
		refuse_body(request, answer->size);
		return;
	}
	set_response(
		request, answer->status, response_of(request->server, answer, fd), answer->size);
}

void http_answer(struct http_request *request, const struct http_answer *answer)
{
	answer_body(request, answer, -1);
}

void http_answer_file(struct http_request *request, const struct http_answer *answer, int fd)
{
	assert(fd >= 0 && !answer->body);
	answer_body(request, answer, fd);
}

void http_answer_text(struct http_request *request, unsigned status, const char *format, ...)
{
	struct MHD_Response *response;
	va_list arguments;

	va_start(arguments, format);
	response = response_of_text(request, format, arguments);
	va_end(arguments);
	set_response(request, status, response, 0);
}

void http_answer_refusal(struct http_request *request, unsigned status,
	const struct http_field *field, const char *format, ...)
{
	struct MHD_Response *response;
	va_list arguments;

	va_start(arguments, format);
	response = response_of_text(request, format, arguments);
	va_end(arguments);
	if (response && !((!field || add_field(response, field->name, field->value)) &&
				add_field(response, MHD_HTTP_HEADER_CONNECTION, "close"))) {
		microhttpd()->destroy_response(response);
		response = NULL;
	}
	set_response(request, status, response, 0);
}
