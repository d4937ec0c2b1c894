/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "broker/broker_server.h"

#include "broker/broker_request.h"
#include "broker/broker_roots.h"
#include "broker/broker_socket.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>

/* That one run serves. */
enum { RUN_REQUESTS_MAX = 16 };

struct broker_server {
	int fd;
	int epoll_fd;
	struct broker_roots roots;
	struct broker_children children;
	struct broker_server_counters counters;
};

static int open_epoll(struct broker_server *server, int fd)
{
	struct epoll_event event = { .events = EPOLLIN };

	server->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (server->epoll_fd < 0 || epoll_ctl(server->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0)
		return -errno;
	return 0;
}

int broker_server_new(
	int fd, const struct broker_options *options, struct broker_server **ret_server)
{
	_cleanup_(broker_server_freep) struct broker_server *server = calloc(1, sizeof(*server));
	int r;

	if (!server)
		return -ENOMEM;
	server->fd = server->epoll_fd = -1;
	r = broker_socket_check(fd);
	if (r == 0)
		r = open_epoll(server, fd);
	if (r == 0)
		r = broker_roots_init(&server->roots, options);
	if (r == 0)
		r = broker_children_init(&server->children, options, server->epoll_fd);
	if (r < 0)
		return r;
	server->fd = fd;
	*ret_server = TAKE_PTR(server);
	return 0;
}

void broker_server_free(struct broker_server *server)
{
	if (!server)
		return;
	closep(&server->fd);
	broker_children_done(&server->children);
	broker_roots_done(&server->roots);
	closep(&server->epoll_fd);
	free(server);
}

int broker_server_poll_fd(const struct broker_server *server)
{
	return server->epoll_fd;
}

const struct broker_server_counters *broker_server_counters(const struct broker_server *server)
{
	return &server->counters;
}

static enum broker_refusal refusal_of(int error)
{
	switch (error) {
	case -ESRCH:
		return BROKER_REFUSAL_GONE;
	case -ENOENT:
	case -ENOTDIR:
		return BROKER_REFUSAL_MISSING;
	case -EACCES:
	case -EPERM:
		return BROKER_REFUSAL_PRIVILEGE;
	case -EINVAL:
	case -ELOOP:
	case -EXDEV:
	case -ENAMETOOLONG:
		return BROKER_REFUSAL_UNFIT;
	case -EAGAIN:
	case -EMFILE:
	case -ENFILE:
	case -ENOMEM:
	case -ETOOMANYREFS:
		return BROKER_REFUSAL_EXHAUSTED;
	default:
		return BROKER_REFUSAL_OTHER;
	}
}

/* Returns 0, or -EBADMSG and why. */
static int check(const struct pilotlight_broker_request *request,
	const struct broker_message *message, enum broker_refusal *ret_refusal)
{
	if (message->size != sizeof(*request))
		*ret_refusal = BROKER_REFUSAL_SIZE;
	else if (message->has_lost_fds)
		*ret_refusal = BROKER_REFUSAL_DESCRIPTOR;
	else if (broker_request_check(request) < 0)
		*ret_refusal = BROKER_REFUSAL_FIELD;
	else
		return 0;
	return -EBADMSG;
}

static int send_answer(struct broker_server *server, struct pilotlight_broker_answer *answer,
	const int *fds, size_t fd_count)
{
	int r = broker_socket_send_all(server->fd, answer, sizeof(*answer), fds, fd_count);

	if (r == 0 || r == -EPIPE || r == -EAGAIN || answer->result < 0)
		return r;
	/* It is the descriptors that cannot go: too many are on their way. */
	answer->result = r;
	return broker_socket_send(server->fd, answer, sizeof(*answer), -1);
}

/* `malformed` is why, where there is no `operation`. */
static void count(struct broker_server_counters *counters, uint32_t operation, int result,
	enum broker_refusal malformed)
{
	if (result == 0) {
		counters->opened[operation]++;
		return;
	}
	counters->refused[operation]++;
	counters->refusals[operation ? refusal_of(result) : malformed]++;
}

/* Returns how many descriptors there are, or -errno. */
static int execute(struct broker_server *server, const struct pilotlight_broker_request *request,
	int ret_fds[BROKER_SOCKET_FDS_MAX])
{
	int r;

	if (request->operation == PILOTLIGHT_BROKER_START_CHILD) {
		r = broker_children_start(&server->children, request->file, ret_fds);
		return r < 0 ? r : 2;
	}
	r = broker_request_execute(&server->roots, request, &ret_fds[0]);
	return r < 0 ? r : 1;
}

static int serve_one(struct broker_server *server)
{
	struct pilotlight_broker_answer answer = { .version = PILOTLIGHT_BROKER_VERSION };
	enum broker_refusal malformed = BROKER_REFUSAL_OTHER;
	struct pilotlight_broker_request request;
	struct broker_message message;
	int fds[BROKER_SOCKET_FDS_MAX];
	uint32_t operation = 0;
	int r, fd_count = 0;

	r = broker_socket_receive(server->fd, &request, sizeof(request), 0, &message);
	if (r < 0)
		return r;
	answer.number = message.size == sizeof(request) ? request.number : 0;
	answer.result = check(&request, &message, &malformed);
	if (answer.result == 0) {
		operation = request.operation;
		r = execute(server, &request, fds);
		answer.result = r < 0 ? r : 0;
		fd_count = r < 0 ? 0 : r;
	}
	r = send_answer(server, &answer, fds, (size_t)fd_count);
	/* A child whose ends are gone is killed. */
	for (int i = 0; i < fd_count; i++)
		(void)close(fds[i]);
	count(&server->counters, operation, answer.result, malformed);
	if (r < 0)
		server->counters.answers_dropped++;
	return r == -EPIPE ? r : 0;
}

int broker_server_run(struct broker_server *server)
{
	int r = 0;

	for (int i = 0; r == 0 && i < RUN_REQUESTS_MAX; i++)
		r = serve_one(server);
	broker_children_run(&server->children);
	server->counters.children = server->children.counters;
	return r == -EAGAIN ? 0 : r;
}
