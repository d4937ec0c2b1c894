/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Accepts connections itself instead of letting libmicrohttpd do it. All listeners share one
 * connection count, and accept() pauses instead of spinning when descriptors run out.
 */
#include "base/clock.h"
#include "serve/http_private.h"

#include <errno.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/socket.h>

enum { ACCEPTS_A_RUN = 64 };

/* A client that has not sent its request yet may miss the refusal: the server does not wait. */
static void refuse_at_once(struct http_server *server, int fd, unsigned status)
{
	char bytes[4096];
	int size;

	/* Closing with unread bytes would reset the connection and lose the answer. */
	for (size_t taken = 0; taken < server->limits.head_bytes; taken += sizeof(bytes))
		if (recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT) != sizeof(bytes))
			break;
	size = snprintf(bytes, sizeof(bytes),
		"HTTP/1.1 %u %s\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", status,
		status == MHD_HTTP_TOO_MANY_REQUESTS ? "Too Many Requests" : "Service Unavailable");
	(void)send(fd, bytes, (size_t)size, MSG_DONTWAIT | MSG_NOSIGNAL);
	(void)close(fd);
	server->counters.connections++;
	server->counters.connections_refused++;
}

void http_connection_add(struct http_server *server, int fd)
{
	struct sockaddr_storage address = { .ss_family = AF_UNSPEC };
	socklen_t size = sizeof(address);
	unsigned refusal;

	if (getpeername(fd, (struct sockaddr *)&address, &size) < 0) {
		/* The client has already left. */
		(void)close(fd);
		return;
	}
	refusal = http_connection_refusal(server, fd);
	if (refusal != 0) {
		refuse_at_once(server, fd, refusal);
		return;
	}
	/* Closes the socket if it fails. */
	if (microhttpd()->add_connection(server->daemon, fd, (struct sockaddr *)&address, size) !=
		MHD_YES) {
		server->counters.connections++;
		server->counters.connections_refused++;
	}
}

void http_listener_accept(struct http_server *server, const struct http_listener *listener)
{
	for (int i = 0; i < ACCEPTS_A_RUN; i++) {
		int fd = accept4(listener->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd >= 0) {
			http_connection_add(server, fd);
			continue;
		}
		if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
			http_listeners_ignore(server);
			server->listen_again_ns = clock_monotonic_ns() + NSEC_PER_SEC;
		}
		/* These errors concern one client only; another client may wait behind it. */
		if (errno != ECONNABORTED && errno != EINTR && errno != EPROTO)
			return;
	}
}

int http_listeners_watch(struct http_server *server)
{
	server->listen_again_ns = 0;
	for (size_t i = 0; i < server->listener_count; i++) {
		struct epoll_event event = { .events = EPOLLIN, .data.u64 = i };

		if (epoll_ctl(server->epoll_fd, EPOLL_CTL_ADD, server->listeners[i].fd, &event) < 0)
			return -errno;
	}
	return 0;
}

void http_listeners_ignore(struct http_server *server)
{
	for (size_t i = 0; i < server->listener_count; i++)
		(void)epoll_ctl(server->epoll_fd, EPOLL_CTL_DEL, server->listeners[i].fd, NULL);
}
