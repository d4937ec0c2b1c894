/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "broker/broker_server.h"

#include "base/clock.h"
#include "broker/broker_request.h"
#include "broker/broker_roots.h"
#include "broker/broker_socket.h"
#include "broker/file_opener.h"
#include "broker/process_request.h"
#include "broker/request_rate.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>

enum {
	/* Requests that one broker_server_run() serves. */
	RUN_REQUESTS_MAX = 16,
	/* Descriptors of an answer: a child's two sockets. */
	FDS_MAX = 2,
};

struct broker_server {
	int fd;
	int epoll_fd;
	struct broker_roots roots;
	struct broker_children children;
	struct broker_server_counters *counters; /* in memory shared with the opener */
	struct request_rate *rate;		 /* borrowed, shared with the opener; or NULL */
	struct file_opener opener;
	bool uses_opener;
	bool watches; /* is the socket in the epoll set? Not while an opener serves it */
};

static int open_epoll(struct broker_server *server)
{
	server->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	return server->epoll_fd < 0 ? -errno : 0;
}

static int map_counters(struct broker_server *server)
{
	void *memory = mmap(NULL, sizeof(*server->counters), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return -errno;
	server->counters = memory;
	return 0;
}

static int watch(struct broker_server *server, bool watches)
{
	struct epoll_event event = { .events = EPOLLIN };

	if (watches != server->watches &&
		epoll_ctl(server->epoll_fd, watches ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, server->fd,
			&event) < 0)
		return -errno;
	server->watches = watches;
	return 0;
}

static void open_opener(struct broker_server *server, const struct broker_options *options)
{
	if (!options || options->request_timeout_ns == 0)
		return;
	server->uses_opener = true;
	file_opener_init(&server->opener, server->epoll_fd, options->request_timeout_ns,
		options->lost_openers);
	server->opener.opens_closed_folders = options->opens_closed_folders;
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
		r = open_epoll(server);
	if (r == 0)
		r = map_counters(server);
	if (r == 0)
		r = broker_roots_init(&server->roots, options);
	if (r == 0)
		r = broker_children_init(&server->children, options, server->epoll_fd);
	if (r < 0)
		return r;
	open_opener(server, options);
	server->rate = options ? options->request_rate : NULL;
	server->fd = fd;
	r = watch(server, true);
	if (r < 0) {
		server->fd = -1;
		return r;
	}
	*ret_server = TAKE_PTR(server);
	return 0;
}

void broker_server_free(struct broker_server *server)
{
	if (!server)
		return;
	if (server->uses_opener)
		file_opener_done(&server->opener);
	closep(&server->fd);
	broker_children_done(&server->children);
	broker_roots_done(&server->roots);
	closep(&server->epoll_fd);
	if (server->counters)
		(void)munmap(server->counters, sizeof(*server->counters));
	free(server);
}

int broker_server_poll_fd(const struct broker_server *server)
{
	return server->epoll_fd;
}

const struct broker_server_counters *broker_server_counters(const struct broker_server *server)
{
	return server->counters;
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
	case -ENOEXEC:
	case -EMLINK:
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
	case -ETIMEDOUT:
		return BROKER_REFUSAL_LATE;
	default:
		return BROKER_REFUSAL_OTHER;
	}
}

/* Returns 0, or -EBADMSG and the reason. */
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

/* `malformed` is the reason if `operation` is 0. */
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

static bool is_of_service(
	const struct broker_server *server, const struct pilotlight_broker_request *request)
{
	return request->file < BROKER_CHILDREN && server->children.sockets[request->file];
}

/*
 * Executes a request; if `refusal` is not 0, requests for files fail with it. Returns the number of
 * descriptors, or -errno.
 */
static int execute(struct broker_server *server, const struct pilotlight_broker_request *request,
	int refusal, int ret_fds[FDS_MAX])
{
	int r;

	if (request->operation == PILOTLIGHT_BROKER_START_CHILD) {
		if (is_of_service(server, request) && server->rate &&
			!request_rate_take_fetch(server->rate, clock_monotonic_ns()))
			return -EAGAIN;
		r = broker_children_start(&server->children, request->file, ret_fds);
		return r < 0 ? r : 2;
	}
	if (refusal < 0)
		return refusal;
	if (server->rate && broker_request_is_far_reaching(request) &&
		!request_rate_take(server->rate, process_request_user(&server->roots, request),
			clock_monotonic_ns()))
		return -EAGAIN;
	r = broker_request_execute(&server->roots, request, &ret_fds[0]);
	return r < 0 ? r : 1;
}

static int answer_one(struct broker_server *server, const struct pilotlight_broker_request *request,
	const struct broker_message *message, int refusal)
{
	struct pilotlight_broker_answer answer = { .version = PILOTLIGHT_BROKER_VERSION };
	enum broker_refusal malformed = BROKER_REFUSAL_OTHER;
	int fds[FDS_MAX];
	uint32_t operation = 0;
	int r, fd_count = 0;

	answer.number = message->size == sizeof(*request) ? request->number : 0;
	answer.result = check(request, message, &malformed);
	if (answer.result == 0) {
		operation = request->operation;
		r = execute(server, request, refusal, fds);
		answer.result = r < 0 ? r : 0;
		fd_count = r < 0 ? 0 : r;
	}
	r = broker_socket_send_answer(
		server->fd, &answer, sizeof(answer), &answer.result, fds, (size_t)fd_count);
	/* If the answer was not sent, closing these kills the child. */
	for (int i = 0; i < fd_count; i++)
		(void)close(fds[i]);
	count(server->counters, operation, answer.result, malformed);
	if (r < 0)
		server->counters->answers_dropped++;
	return r == -EPIPE ? r : 0;
}

static int serve_one(struct broker_server *server, int refusal)
{
	struct pilotlight_broker_request request;
	struct broker_message message;
	int r = broker_socket_receive(server->fd, &request, sizeof(request), 0, &message);

	return r < 0 ? r : answer_one(server, &request, &message, refusal);
}

static int run_here(struct broker_server *server)
{
	int r = 0;

	for (int i = 0; r == 0 && i < RUN_REQUESTS_MAX; i++)
		r = serve_one(server, 0);
	return r;
}

/* --- in the opener's process -------------------------------------------------------------------
 */

static bool is_for_a_child(
	const struct pilotlight_broker_request *request, const struct broker_message *message)
{
	return message->size == sizeof(*request) &&
	       request->operation == PILOTLIGHT_BROKER_START_CHILD;
}

/*
 * Serves one message in the opener. The request stays in the socket until it is answered, so that
 * the server can refuse a request over which the opener was killed. Closing a file may take as long
 * as opening it and counts against the timeout. The answered request is removed after that: the
 * client may get two answers and drops one, but always gets one.
 */
static int serve_in_opener(void *context, int socket_fd)
{
	struct broker_server *server = context;
	struct pilotlight_broker_request request;
	struct broker_message message;
	int r;

	server->fd = socket_fd;
	r = broker_socket_peek(socket_fd, &request, sizeof(request), &message);
	if (r < 0)
		return r;
	if (is_for_a_child(&request, &message))
		return file_opener_hand_over(&server->opener);
	r = file_opener_begin(&server->opener);
	if (r < 0)
		return r;
	r = answer_one(server, &request, &message, 0);
	file_opener_end(&server->opener);
	return r < 0 ? r : broker_socket_receive(socket_fd, &request, 0, 0, &message);
}

/* --- beside it ---------------------------------------------------------------------------------
 */

/* Refuses the next request, if there still is one. */
static int refuse_one(struct broker_server *server, int refusal)
{
	int r = serve_one(server, refusal);

	return r == -EAGAIN ? 0 : r;
}

static int start_opener(struct broker_server *server)
{
	struct pilotlight_broker_request request;
	struct broker_message message;
	int r = broker_socket_peek(server->fd, &request, sizeof(request), &message);

	if (r < 0)
		return r == -EAGAIN ? watch(server, true) : r;
	r = file_opener_start(&server->opener, server->fd, serve_in_opener, server);
	if (r == 0)
		return watch(server, false);
	r = refuse_one(server, -EAGAIN);
	return r < 0 ? r : watch(server, true);
}

static int run_with_opener(struct broker_server *server)
{
	int r = 0;

	switch (file_opener_run(&server->opener)) {
	case FILE_OPENER_NOTHING:
	case FILE_OPENER_ENDED:
		break;
	case FILE_OPENER_HANDS_OVER:
		r = refuse_one(server, -EAGAIN);
		file_opener_hand_back(&server->opener);
		break;
	case FILE_OPENER_LATE:
		r = refuse_one(server, -ETIMEDOUT);
		break;
	case FILE_OPENER_FAILED:
		r = refuse_one(server, -EIO);
		break;
	}
	return r == 0 && !file_opener_is_running(&server->opener) ? start_opener(server) : r;
}

int broker_server_run(struct broker_server *server)
{
	int r = server->uses_opener ? run_with_opener(server) : run_here(server);

	broker_children_run(&server->children);
	server->counters->children = server->children.counters;
	return r == -EAGAIN ? 0 : r;
}
