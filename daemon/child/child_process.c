/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "child/child_process.h"

#include "base/clock.h"
#include "broker/child_kind.h"
#include "broker/child_spawn.h"
#include "pilotlight/broker_request.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/pidfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/wait.h>

/* For a broker's report of the end of a killed child. */
enum { FREE_WAIT_MS = 2000 };

struct child_process {
	pid_t pid;     /* 0: the broker has started it */
	int end_fd;    /* its pidfd, or the socket where the broker reports its end */
	int socket_fd; /* -1: it has answered, or never will */
	int timer_fd;  /* -1: it has been killed */
	int epoll_fd;
	bool accepts_fd;
	bool has_ended;
	struct child_process_end end;
};

static void close_fd(int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
	*fd = -1;
}

static void kill_child(struct child_process *child)
{
	close_fd(&child->socket_fd);
	close_fd(&child->timer_fd);
	if (child->pid > 0)
		(void)pidfd_send_signal(child->end_fd, SIGKILL, NULL, 0);
	else
		(void)shutdown(child->end_fd, SHUT_WR);
}

static void wait_for_end(const struct child_process *child)
{
	struct pollfd end = { .fd = child->end_fd, .events = POLLIN };

	if (child->pid > 0)
		while (waitpid(child->pid, NULL, 0) < 0 && errno == EINTR)
			;
	else
		(void)poll(&end, 1, FREE_WAIT_MS);
}

void child_process_free(struct child_process *child)
{
	if (!child)
		return;
	if (child->end_fd >= 0 && !child->has_ended) {
		kill_child(child);
		wait_for_end(child);
	}
	close_fd(&child->socket_fd);
	close_fd(&child->timer_fd);
	close_fd(&child->end_fd);
	close_fd(&child->epoll_fd);
	close_fd(&child->end.reply_fd);
	free(child);
}

static int watch(struct child_process *child, int fd)
{
	struct epoll_event event = { .events = EPOLLIN };

	return epoll_ctl(child->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

/* Opens the timer, and an epoll descriptor for timer, answer and end. */
static int open_descriptors(struct child_process *child, uint64_t timeout_ns)
{
	uint64_t now = clock_monotonic_ns();
	uint64_t deadline = timeout_ns > INT64_MAX - now ? INT64_MAX : now + timeout_ns;
	struct itimerspec timer = {
		.it_value = { .tv_sec = (time_t)(deadline / NSEC_PER_SEC),
			.tv_nsec = (long)(deadline % NSEC_PER_SEC) },
	};
	int r;

	child->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (child->epoll_fd < 0)
		return -errno;
	child->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (child->timer_fd < 0 ||
		timerfd_settime(child->timer_fd, TFD_TIMER_ABSTIME, &timer, NULL) < 0)
		return -errno;
	r = watch(child, child->timer_fd);
	if (r == 0)
		r = watch(child, child->socket_fd);
	return r == 0 ? watch(child, child->end_fd) : r;
}

static int send_request(struct child_process *child, const struct child_process_options *options)
{
	return child_request_send(child->socket_fd, options->descriptors, options->descriptor_count,
		options->request, options->request_bytes);
}

static int start_here(struct child_process *child, const struct child_process_options *options)
{
	char *environment[CHILD_KIND_VARIABLES_MAX + 1];
	struct child_spawn spawn = {
		.program = options->program,
		.arguments = options->arguments ? options->arguments
						: child_kind_arguments(options->kind),
		.environment = options->environment ? options->environment : environment,
	};
	_cleanup_close_ int other_fd = -1;
	int sockets[2];
	int r;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0)
		return -errno;
	child->socket_fd = sockets[0];
	spawn.socket_fd = other_fd = sockets[1];
	/* Sent before the child exists, which could otherwise refuse it. */
	r = send_request(child, options);
	if (r < 0)
		return r;
	child_kind_environment(options->kind, environment);
	return child_spawn(&spawn, &child->pid, &child->end_fd);
}

static int start_by_broker(struct child_process *child, const struct child_process_options *options)
{
	int r = broker_start_child(
		options->broker, options->kind, &child->socket_fd, &child->end_fd);

	if (r < 0)
		return r;
	r = send_request(child, options);
	/* The child is gone already; the broker will report that. */
	return r == -EPIPE ? 0 : r;
}

int child_process_start(
	const struct child_process_options *options, struct child_process **ret_child)
{
	_cleanup_(child_process_freep) struct child_process *child = calloc(1, sizeof(*child));
	int r;

	if (!child)
		return -ENOMEM;
	child->end_fd = child->socket_fd = child->timer_fd = child->epoll_fd = -1;
	child->end.reply_fd = -1;
	child->accepts_fd = options->accepts_fd;
	r = options->broker && broker_is_remote(options->broker) ? start_by_broker(child, options)
								 : start_here(child, options);
	if (r == 0)
		r = open_descriptors(child, options->timeout_ns);
	if (r < 0)
		return r;
	*ret_child = TAKE_PTR(child);
	return 0;
}

pid_t child_process_id(const struct child_process *child)
{
	return child->pid;
}

void child_process_set_idle(const struct child_process *child, bool is_idle)
{
	const struct sched_param parameters = { 0 };
	const uint8_t word = is_idle ? PILOTLIGHT_CHILD_IDLE : PILOTLIGHT_CHILD_NORMAL;

	if (child->pid > 0)
		(void)sched_setscheduler(
			child->pid, is_idle ? SCHED_IDLE : SCHED_OTHER, &parameters);
	else
		(void)send(child->end_fd, &word, sizeof(word), MSG_DONTWAIT | MSG_NOSIGNAL);
}

int child_process_poll_fd(const struct child_process *child)
{
	return child->epoll_fd;
}

/* Returns the descriptor of a message, or -1. The kernel has closed any others. */
static int received_fd(struct msghdr *message)
{
	const struct cmsghdr *header = CMSG_FIRSTHDR(message);
	int fd;

	if (!header || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS ||
		header->cmsg_len != CMSG_LEN(sizeof(fd)))
		return -1;
	memcpy(&fd, CMSG_DATA(header), sizeof(fd));
	return fd;
}

/*
 * Receives the answer, if it is there. After that, or at end-of-file, the child has nothing more to
 * do.
 */
static void receive(struct child_process *child)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec bytes = { child->end.reply, sizeof(child->end.reply) };
	struct msghdr message = { .msg_iov = &bytes, .msg_iovlen = 1 };
	ssize_t size;

	if (child->accepts_fd) {
		message.msg_control = control;
		/* Not CMSG_SPACE(), in whose padding another descriptor would fit. */
		message.msg_controllen = CMSG_LEN(sizeof(int));
	}
	/*
	 * If the child ended without reading its request, ECONNRESET comes once, before its answer.
	 */
	do
		size = recvmsg(child->socket_fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	while (size < 0 && (errno == EINTR || errno == ECONNRESET));
	if (size < 0 && errno == EAGAIN)
		return;
	/* An empty message looks like end-of-file, but can carry a descriptor. */
	if (size >= 0 && child->accepts_fd)
		child->end.reply_fd = received_fd(&message);
	if (size > 0 && !(message.msg_flags & MSG_TRUNC))
		child->end.reply_bytes = (size_t)size;
	kill_child(child);
}

/* Returns 0 and how the child ended, or -EAGAIN. */
static int reap(const struct child_process *child, struct child_process_end *end)
{
	struct rusage usage = { 0 };
	/* Reported if other code in this process reaped the child, so that its status is lost. */
	int status = SIGKILL;

	if (wait4(child->pid, &status, WNOHANG, &usage) == 0)
		return -EAGAIN;
	end->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	end->exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
	end->cpu_ns = clock_rusage_cpu_ns(&usage);
	return 0;
}

/* The same from the broker's report. The children of a broker that is gone are killed with it. */
static int receive_end(const struct child_process *child, struct child_process_end *end)
{
	struct pilotlight_child_end report;
	ssize_t size;

	/* If the broker closed its end before it read a priority, ECONNRESET comes once, before the
	 * report. */
	do
		size = recv(child->end_fd, &report, sizeof(report), MSG_DONTWAIT);
	while (size < 0 && (errno == EINTR || errno == ECONNRESET));
	if (size < 0 && errno == EAGAIN)
		return -EAGAIN;
	if (size != sizeof(report))
		report = (struct pilotlight_child_end){ .signal = SIGKILL };
	end->signal = report.signal;
	end->exit_status = report.exit_status;
	end->cpu_ns = report.cpu_ns;
	return 0;
}

int child_process_finish(struct child_process *child, struct child_process_end *ret_end)
{
	uint64_t expirations;
	int r;

	assert(!child->has_ended);
	if (child->socket_fd >= 0)
		receive(child);
	if (child->timer_fd >= 0 &&
		read(child->timer_fd, &expirations, sizeof(expirations)) == sizeof(expirations)) {
		child->end.has_timed_out = true;
		kill_child(child);
	}
	r = child->pid > 0 ? reap(child, &child->end) : receive_end(child, &child->end);
	if (r < 0)
		return r;
	child->has_ended = true;
	/* An answer that it sent after the first look and before its end. */
	if (child->socket_fd >= 0)
		receive(child);
	*ret_end = child->end;
	child->end.reply_fd = -1;
	return 0;
}
