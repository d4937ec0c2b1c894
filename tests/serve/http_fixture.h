/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A server and its clients in one thread: whoever waits lets the server run meanwhile. */
#pragma once

#include "serve/http_private.h"

#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

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
	/* It may only be noted until then. */
	assert_int_equal(http_server_run(server), 0);
	return fds[1];
}

/* What the server closes meanwhile loses the rest. */
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

/*
 * Receives until `end` is there, or to the end of the connection where it is NULL. Returns a text,
 * free().
 */
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

/* Asks on a connection of its own, which the request must end. */
static inline char *http_exchange(struct http_server *server, const char *text)
{
	int fd = http_connect(server);
	char *reply;

	http_ask(server, fd, text);
	reply = http_receive(server, fd, NULL);
	(void)close(fd);
	return reply;
}
