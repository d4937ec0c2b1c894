/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/capture_server.h"

#include "broker/broker_socket.h"
#include "capture/capture_session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

struct capture_server {
	int epoll_fd;
	int fd; /* -1: no client */
	struct capture_session session;
};

int capture_server_new(const char *event_service, struct capture_server **ret_server)
{
	_cleanup_(capture_server_freep) struct capture_server *server = calloc(1, sizeof(*server));

	if (!server)
		return -ENOMEM;
	server->fd = -1;
	server->session.event_service = event_service;
	server->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (server->epoll_fd < 0)
		return -errno;
	*ret_server = TAKE_PTR(server);
	return 0;
}

static void hang_up(struct capture_server *server)
{
	if (server->fd < 0)
		return;
	(void)epoll_ctl(server->epoll_fd, EPOLL_CTL_DEL, server->fd, NULL);
	(void)close(server->fd);
	server->fd = -1;
}

void capture_server_free(struct capture_server *server)
{
	if (!server)
		return;
	hang_up(server);
	if (server->epoll_fd >= 0)
		(void)close(server->epoll_fd);
	capture_session_done(&server->session);
	free(server);
}

void capture_server_grant(struct capture_server *server, const struct capture_grant *grant)
{
	server->session.grant = *grant;
}

void capture_server_limit(struct capture_server *server, const struct capture_limits *limits)
{
	capture_session_limit(&server->session, limits);
}

void capture_server_choose(struct capture_server *server, const struct cgroup_choice *choice)
{
	capture_session_choose(&server->session, choice);
}

int capture_server_connect(struct capture_server *server, int fd)
{
	struct epoll_event event = { .events = EPOLLIN };
	int r = broker_socket_check(fd);

	if (r < 0)
		return r;
	if (epoll_ctl(server->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0)
		return -errno;
	hang_up(server);
	server->fd = fd;
	capture_session_new_client(&server->session);
	return 0;
}

int capture_server_poll_fd(const struct capture_server *server)
{
	return server->epoll_fd;
}

static int serve_one(struct capture_server *server)
{
	struct pilotlight_capture_request request;
	struct pilotlight_capture_answer answer;
	int fds[PILOTLIGHT_CAPTURE_FDS];
	struct broker_message message;
	size_t count = 0;
	int r;

	r = broker_socket_receive(server->fd, &request, sizeof(request), 0, &message);
	if (r < 0)
		return r;
	if (message.size == sizeof(request) && !message.has_lost_fds &&
		capture_request_check(&request) == 0) {
		count = capture_session_execute(&server->session, &request, &answer, fds);
	} else {
		memset(&answer, 0, sizeof(answer));
		answer.version = PILOTLIGHT_CAPTURE_VERSION;
		answer.number = message.size == sizeof(request) ? request.number : 0;
		answer.result = -EBADMSG;
	}
	r = broker_socket_send_answer(
		server->fd, &answer, sizeof(answer), &answer.result, fds, count);
	return r == -EPIPE ? r : 0;
}

int capture_server_run(struct capture_server *server)
{
	int r;

	if (server->fd < 0)
		return 0;
	r = serve_one(server);
	if (r == -EPIPE)
		hang_up(server);
	return r == -EAGAIN ? 0 : r;
}
