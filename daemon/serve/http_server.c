/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Drives GNU libmicrohttpd through its epoll descriptor. The library reads heads, writes answers
 * and keeps connections. This file sets the connection limits and deadlines: the library's own
 * limits ignore users of unix sockets and clients that send one byte at a time.
 */
#include "serve/http_server.h"

#include "base/clock.h"
#include "serve/http_private.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

enum {
	EVENTS_A_RUN = 8,
	DAEMON_EVENT = UINT16_MAX, /* lower values are positions of listeners */
	RESUME_EVENT,		   /* higher values are addresses of requests */
	NSEC_PER_MSEC = 1000000,
};

const struct http_limits http_default_limits = {
	.connections = 64,
	.connections_of_user = 32,
	.head_bytes = 16 << 10,
	.answer_bytes = 64 << 20,
	.head_timeout_s = 10,
	.idle_timeout_s = 60,
};

static struct MHD_Daemon *start_daemon(struct http_server *server)
{
	const struct http_limits *limits = &server->limits;
	size_t pool_bytes = limits->head_bytes * HEAD_POOL_FACTOR;

	if (pool_bytes < HEAD_POOL_BYTES_MIN)
		pool_bytes = HEAD_POOL_BYTES_MIN;
	return microhttpd()->start_daemon(
		MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL,
		http_request_handle, server, MHD_OPTION_CONNECTION_LIMIT,
		limits->connections + REFUSALS_MAX, MHD_OPTION_CONNECTION_TIMEOUT, 0U,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, pool_bytes, MHD_OPTION_STRICT_FOR_CLIENT, 1,
		MHD_OPTION_URI_LOG_CALLBACK, http_request_log, server, MHD_OPTION_NOTIFY_COMPLETED,
		http_request_complete, server, MHD_OPTION_NOTIFY_CONNECTION, http_connection_notify,
		server, MHD_OPTION_END);
}

static int watch(struct http_server *server, int fd, uint64_t which)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u64 = which };

	return epoll_ctl(server->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

static int watch_daemon(struct http_server *server)
{
	const union MHD_DaemonInfo *info =
		microhttpd()->get_daemon_info(server->daemon, MHD_DAEMON_INFO_EPOLL_FD);

	if (!info || info->epoll_fd < 0)
		return -EIO;
	return watch(server, info->epoll_fd, DAEMON_EVENT);
}

static int copy_listeners(
	struct http_server *server, const struct http_listener *listeners, size_t count)
{
	server->listeners = calloc(count ? count : 1, sizeof(*listeners));
	if (!server->listeners)
		return -ENOMEM;
	if (count > 0)
		memcpy(server->listeners, listeners, count * sizeof(*listeners));
	server->listener_count = count;
	/* An inherited descriptor may be in blocking mode. */
	for (size_t i = 0; i < count; i++) {
		int flags = fcntl(listeners[i].fd, F_GETFL);

		if (flags < 0 || fcntl(listeners[i].fd, F_SETFL, flags | O_NONBLOCK) < 0)
			return -errno;
	}
	return 0;
}

static int open_server(
	struct http_server *server, const struct http_listener *listeners, size_t listener_count)
{
	int r;

	server->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (server->epoll_fd < 0)
		return -errno;
	server->resume_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (server->resume_fd < 0)
		return -errno;
	r = watch(server, server->resume_fd, RESUME_EVENT);
	if (r < 0)
		return r;
	r = copy_listeners(server, listeners, listener_count);
	if (r < 0)
		return r;
	server->daemon = start_daemon(server);
	if (!server->daemon)
		return errno == EMFILE || errno == ENFILE ? -errno : -ENOMEM;
	r = watch_daemon(server);
	return r < 0 ? r : http_listeners_watch(server);
}

int http_server_prepare(struct fault *fault)
{
	return microhttpd_load(fault);
}

int http_server_new(const struct http_limits *limits, const struct http_listener *listeners,
	size_t listener_count, const struct http_route *routes, void *context,
	struct http_server **ret_server, struct fault *fault)
{
	_cleanup_(http_server_freep) struct http_server *server = NULL;
	int r = http_server_prepare(fault);

	assert(listener_count < DAEMON_EVENT);
	assert(limits->connections > 0 && limits->connections_of_user > 0);
	if (r < 0)
		return r;
	server = calloc(1, sizeof(*server));
	if (!server)
		return fault_set(fault, -ENOMEM, "cannot start the HTTP server: out of memory");
	server->epoll_fd = server->resume_fd = -1;
	server->limits = *limits;
	server->routes = routes;
	server->context = context;
	r = open_server(server, listeners, listener_count);
	if (r < 0) {
		/* The caller keeps the descriptors. */
		server->listener_count = 0;
		return fault_set(fault, r, "cannot start the HTTP server: %s", strerror(-r));
	}
	*ret_server = TAKE_PTR(server);
	return 0;
}

void http_server_set_access(struct http_server *server, const struct http_access *access)
{
	server->access = *access;
}

void http_server_free(struct http_server *server)
{
	if (!server)
		return;
	if (server->daemon) {
		http_requests_resume(server);
		microhttpd()->stop_daemon(server->daemon);
	}
	for (size_t i = 0; i < server->listener_count; i++)
		(void)close(server->listeners[i].fd);
	free(server->listeners);
	if (server->epoll_fd >= 0)
		(void)close(server->epoll_fd);
	if (server->resume_fd >= 0)
		(void)close(server->resume_fd);
	free(server);
}

int http_server_poll_fd(const struct http_server *server)
{
	return server->epoll_fd;
}

static uint64_t until(uint64_t time_ns, uint64_t now_ns)
{
	return time_ns > now_ns ? time_ns - now_ns : 0;
}

uint64_t http_server_timeout_ns(const struct http_server *server)
{
	uint64_t now_ns = clock_monotonic_ns(), next_ns = UINT64_MAX;
	MHD_UNSIGNED_LONG_LONG milliseconds;

	for (const struct http_connection *c = server->connections; c; c = c->next)
		if (c->deadline_ns < next_ns)
			next_ns = c->deadline_ns;
	if (server->listen_again_ns > 0 && server->listen_again_ns < next_ns)
		next_ns = server->listen_again_ns;
	if (next_ns < UINT64_MAX)
		next_ns = until(next_ns, now_ns);
	if (microhttpd()->get_timeout(server->daemon, &milliseconds) == MHD_YES &&
		milliseconds < next_ns / NSEC_PER_MSEC)
		next_ns = milliseconds * NSEC_PER_MSEC;
	return next_ns;
}

int http_server_run(struct http_server *server)
{
	struct epoll_event events[EVENTS_A_RUN];
	uint64_t now_ns = clock_monotonic_ns();
	eventfd_t resumed;
	int count, r = 0;

	if (server->listen_again_ns > 0 && server->listen_again_ns <= now_ns)
		r = http_listeners_watch(server);
	/* Connections that have ended make room for those that wait to be accepted. */
	if (microhttpd()->run(server->daemon) != MHD_YES)
		return -EIO;
	count = epoll_wait(server->epoll_fd, events, EVENTS_A_RUN, 0);
	for (int i = 0; i < count; i++) {
		uint64_t which = events[i].data.u64;

		if (which == RESUME_EVENT)
			(void)eventfd_read(server->resume_fd, &resumed);
		else if (which < DAEMON_EVENT)
			http_listener_accept(server, &server->listeners[which]);
		else if (which > RESUME_EVENT)
			http_request_notify_gone(server, (const void *)(uintptr_t)which);
	}
	http_connections_cut(server, now_ns);
	/* Runs without an event, too: resumed and half-read connections cause none. */
	if (microhttpd()->run(server->daemon) != MHD_YES)
		return -EIO;
	return r;
}

void http_server_counters(const struct http_server *server, struct http_counters *ret_counters)
{
	*ret_counters = server->counters;
}
