/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A server and its clients in one thread: a client that waits runs the server meanwhile. Tests are
 * listed with WITH_SERVER() and get a struct http_seen as their state.
 */
#pragma once

#include "base/array.h"
#include "serve/http_private.h"

#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <cmocka.h>

#define HOST  "Host: localhost\r\n"
#define CLOSE HOST "Connection: close\r\n\r\n"

enum { HTTP_GUARD_MS = 20000, HTTP_REPLY_BYTES = 16 << 20 };

/* Lets the server do what there is to do, after waiting for it or `fd` (-1: none) if need be. */
static inline void http_step(struct http_server *server, int fd, short events)
{
	uint64_t timeout_ns = http_server_timeout_ns(server);
	struct pollfd fds[] = { { .fd = http_server_poll_fd(server), .events = POLLIN },
		{ .fd = fd, .events = events } };
	int timeout_ms = timeout_ns / 1000000 < HTTP_GUARD_MS
				 ? (int)((timeout_ns + 999999) / 1000000)
				 : HTTP_GUARD_MS;

	assert_true(poll(fds, 2, timeout_ms) > 0 || timeout_ms < HTTP_GUARD_MS);
	assert_int_equal(http_server_run(server), 0);
}

/* A client's socket, of this process's user. */
static inline int http_connect(struct http_server *server)
{
	int fds[2];

	assert_int_equal(
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds), 0);
	http_connection_add(server, fds[0]);
	/* Until this call the socket may only be in a queue. */
	assert_int_equal(http_server_run(server), 0);
	return fds[1];
}

/* The rest is lost if the server closes the connection meanwhile. */
static inline void http_send(struct http_server *server, int fd, const void *bytes, size_t size)
{
	const char *at = bytes;

	while (size > 0) {
		ssize_t n = send(fd, at, size, MSG_NOSIGNAL);

		if (n < 0 && errno != EAGAIN)
			return;
		if (n < 0) {
			http_step(server, fd, POLLOUT);
			continue;
		}
		at += n;
		size -= (size_t)n;
	}
}

static inline void http_ask(struct http_server *server, int fd, const char *text)
{
	http_send(server, fd, text, strlen(text));
}

/* Receives up to `end`, or to the end of the connection if it is NULL. Free the text. */
static inline char *http_receive(struct http_server *server, int fd, const char *end)
{
	char *reply = malloc(HTTP_REPLY_BYTES);
	size_t used = 0;

	assert_non_null(reply);
	for (;;) {
		ssize_t n = recv(fd, reply + used, HTTP_REPLY_BYTES - 1 - used, 0);

		if (n < 0 && errno == EAGAIN) {
			http_step(server, fd, POLLIN);
			continue;
		}
		used += n > 0 ? (size_t)n : 0;
		reply[used] = '\0';
		if (n <= 0 || (end && strstr(reply, end)))
			return reply;
	}
}

/* Sends a request on a new connection, which the request must end. Free the answer. */
static inline char *http_exchange(struct http_server *server, const char *text)
{
	int fd = http_connect(server);
	char *reply;

	http_ask(server, fd, text);
	reply = http_receive(server, fd, NULL);
	(void)close(fd);
	return reply;
}

static inline struct http_counters http_counters_of(const struct http_server *server)
{
	struct http_counters counters;

	http_server_counters(server, &counters);
	return counters;
}

/* Receives to the end of the connection, closes it, and checks that the answer has all parts. */
static inline void http_check(struct http_server *server, int fd, const char *const *parts)
{
	char *reply = http_receive(server, fd, NULL);

	for (; *parts; parts++)
		if (!strstr(reply, *parts))
			fail_msg("'%s' is not in '%.2000s'", *parts, reply);
	free(reply);
	(void)close(fd);
}
#define EXPECT_REPLY(server, fd, ...) \
	http_check(server, fd, (const char *const[]){ __VA_ARGS__, NULL })

/* The same for a request on a new connection. */
static inline void http_ask_and_check(
	struct http_server *server, const char *request, const char *const *parts)
{
	int fd = http_connect(server);

	http_ask(server, fd, request);
	http_check(server, fd, parts);
}
#define EXPECT(server, request, ...) \
	http_ask_and_check(server, request, (const char *const[]){ __VA_ARGS__, NULL })

/* --- routes --- */

/* What the routes keep of requests, and what they answer. */
struct http_seen {
	struct http_server *server;
	struct http_request *late[8];
	size_t late_count;
	struct http_peer peer;
	char parameters[256];
	size_t big_bytes;
	const char *content_policy; /* of the big answer */
	size_t file_bytes;	    /* that the file really has */
	unsigned gone_count;
};

static inline void http_answer_hello(void *context, struct http_request *request)
{
	struct http_seen *seen = context;
	static const struct http_field fields[] = { { "X-One", "1" }, { "X-Two", "2" } };
	struct http_answer answer = { .status = 200,
		.content_type = "text/html",
		.fields = fields,
		.field_count = ARRAY_SIZE(fields) };

	http_request_peer(request, &seen->peer);
	answer.body = strdup("<p>hello");
	answer.size = answer.body ? strlen(answer.body) : 0;
	http_answer(request, &answer);
}

static inline int http_note_parameter(void *context, const char *name, const char *value)
{
	struct http_seen *seen = context;
	size_t used = strlen(seen->parameters);

	(void)snprintf(
		seen->parameters + used, sizeof(seen->parameters) - used, "%s=%s;", name, value);
	return strcmp(name, "stop") == 0 ? -ECANCELED : 0;
}

static inline void http_answer_parameters(void *context, struct http_request *request)
{
	struct http_seen *seen = context;
	const char *a = http_request_parameter(request, "a");

	seen->parameters[0] = '\0';
	assert_null(http_request_parameter(request, "none"));
	http_answer_text(request, 200, "each %d, a '%s'\nsecond line\n",
		http_request_each(request, http_note_parameter, seen), a ? a : "none");
}

static inline void http_keep_for_later(void *context, struct http_request *request)
{
	struct http_seen *seen = context;

	assert_true(seen->late_count < ARRAY_SIZE(seen->late));
	seen->late[seen->late_count++] = request;
}

static inline void http_note_gone(void *context, struct http_request *request)
{
	struct http_seen *seen = context;

	seen->gone_count++;
	for (size_t i = 0; i < seen->late_count; i++)
		if (seen->late[i] == request) {
			http_answer_text(request, 499, "gone");
			return;
		}
	fail_msg("the request was not kept for later");
}

static inline void http_answer_big(void *context, struct http_request *request)
{
	struct http_seen *seen = context;
	struct http_answer answer = { .status = 200,
		.content_type = "application/octet-stream",
		.content_policy = seen->content_policy,
		.body = malloc(seen->big_bytes + 1),
		.size = seen->big_bytes };

	assert_non_null(answer.body);
	for (size_t i = 0; i < answer.size; i++)
		answer.body[i] = (char)('a' + i % 23);
	http_answer(request, &answer);
}

/* Promises `big_bytes` of a file that has `file_bytes`. */
static inline void http_answer_from_file(void *context, struct http_request *request)
{
	struct http_seen *seen = context;
	const struct http_answer answer = {
		.status = 200, .content_type = "application/octet-stream", .size = seen->big_bytes
	};
	int fd = memfd_create("answer", MFD_CLOEXEC);

	assert_true(fd >= 0);
	for (size_t i = 0; i < seen->file_bytes; i++) {
		char c = (char)('a' + i % 23);

		assert_int_equal(pwrite(fd, &c, 1, (off_t)i), 1);
	}
	http_answer_file(request, &answer, fd);
}

/* Checks that bytes of http_answer_big() or http_answer_from_file() arrive whole. */
static inline void http_check_big(struct http_seen *seen, const char *request)
{
	char *reply = http_exchange(seen->server, request), *body = strstr(reply, "\r\n\r\n");

	assert_non_null(body);
	body += 4;
	assert_int_equal(strlen(body), seen->big_bytes);
	for (size_t i = 0; i < seen->big_bytes; i++)
		if (body[i] != (char)('a' + i % 23))
			fail_msg("byte %zu", i);
	free(reply);
}

static inline void http_answer_encoding(void *context, struct http_request *request)
{
	http_answer_text(request, 200, "gzip %d", http_request_accepts_gzip(request));
}

static const struct http_route http_test_routes[] = {
	{ "GET", "/hello", http_answer_hello, NULL, "X-Is-Text", true },
	{ "GET", "/parameters", http_answer_parameters, NULL, "X-Is-Text", false },
	{ "GET", "/late", http_keep_for_later, NULL, NULL, false },
	{ "GET", "/watched", http_keep_for_later, http_note_gone, NULL, false },
	{ "GET", "/big", http_answer_big, NULL, NULL, false },
	{ "GET", "/guests-big", http_answer_big, NULL, NULL, true },
	{ "GET", "/file", http_answer_from_file, NULL, NULL, false },
	{ "PUT", "/put", http_answer_hello, NULL, NULL, false },
	{ "POST", "/discard", http_answer_encoding, NULL, NULL, false },
	{ 0 },
};

/* Starts the test's server. NULL: the default limits. */
static inline struct http_server *http_start(
	struct http_seen *seen, const struct http_limits *limits)
{
	struct fault fault = { 0 };

	http_server_free(seen->server);
	*seen = (struct http_seen){ 0 };
	if (http_server_new(limits ? limits : &http_default_limits, NULL, 0, http_test_routes, seen,
		    &seen->server, &fault) < 0)
		fail_msg("%s", fault.text);
	return seen->server;
}

static inline void http_wait_for_late(struct http_seen *seen, size_t count)
{
	while (seen->late_count < count)
		http_step(seen->server, -1, 0);
}

static inline int http_begin_test(void **state)
{
	*state = calloc(1, sizeof(struct http_seen));
	return *state ? 0 : -1;
}

static inline int http_end_test(void **state)
{
	struct http_seen *seen = *state;

	http_server_free(seen->server);
	free(seen);
	return 0;
}

#define WITH_SERVER(test) cmocka_unit_test_setup_teardown(test, http_begin_test, http_end_test)
