/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/record/record_link.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

enum {
	SOCKETS = 3,
	SPARE_FD_MIN = RECORD_MESSAGE_FD + 1,
	END_TIMEOUT_MS = 5000,
	ENGINE_PRIORITY_GAIN = 10,
};

static const int numbers[SOCKETS] = { RECORD_BROKER_FD, RECORD_CAPTURE_FD, RECORD_MESSAGE_FD };

/* --- the process ------------------------------------------------------------------------------ */

/* By way of spare numbers, as one of the final numbers may be in use by another of them. */
static int place_descriptors(const int fds[SOCKETS])
{
	_cleanup_close_ int empty_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	int spares[SOCKETS];

	if (empty_fd < 0 || dup2(empty_fd, STDIN_FILENO) < 0)
		return -errno;
	for (size_t i = 0; i < SOCKETS; i++) {
		spares[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, SPARE_FD_MIN);
		if (spares[i] < 0)
			return -errno;
	}
	for (size_t i = 0; i < SOCKETS; i++)
		if (dup3(spares[i], numbers[i], O_CLOEXEC) < 0)
			return -errno;
	empty_fd = -1;
	return close_range(SPARE_FD_MIN, UINT_MAX, 0) < 0 ? -errno : 0;
}

static int fork_engine(struct record_link *link, int (*run)(const void *context),
	const void *context, const int fds[SOCKETS])
{
	link->pid = fork();
	if (link->pid < 0) {
		link->pid = 0;
		return -errno;
	}
	/* The engine must not run this process's exit handlers. */
	if (link->pid == 0)
		_exit(place_descriptors(fds) < 0 ? EXIT_FAILURE : run(context));
	return 0;
}

/*
 * Lets the engine run promptly on a busy machine, where stacks are cut until it has served the
 * sampler's requests for unwind tables. Its own priority, in case the user has chosen one, is the
 * base. A refusal does no harm.
 */
static void hurry_engine(pid_t pid)
{
	(void)setpriority(
		PRIO_PROCESS, (id_t)pid, getpriority(PRIO_PROCESS, 0) - ENGINE_PRIORITY_GAIN);
}

void record_link_init(struct record_link *link)
{
	*link = (struct record_link){ .broker_fd = -1, .capture_fd = -1, .message_fd = -1 };
}

int record_link_start(struct record_link *link, int (*run)(const void *context),
	const void *context, struct fault *fault)
{
	int *own_fds[SOCKETS] = { &link->broker_fd, &link->capture_fd, &link->message_fd };
	int fds[SOCKETS] = { -1, -1, -1 }, r = 0;

	for (size_t i = 0; i < SOCKETS && r == 0; i++) {
		int pair[2];

		if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
			r = -errno;
			break;
		}
		*own_fds[i] = pair[0];
		fds[i] = pair[1];
	}
	if (r == 0)
		r = fork_engine(link, run, context, fds);
	if (r == 0)
		hurry_engine(link->pid);
	for (size_t i = 0; i < SOCKETS; i++)
		closep(&fds[i]);
	if (r < 0)
		return fault_set(
			fault, r, "cannot start a process without privileges: %s", strerror(-r));
	return 0;
}

/* Returns false where its end is not known: our caller may have the kernel ignore children. */
static bool wait_for_end(struct record_link *link, siginfo_t *ret_info)
{
	pid_t pid = link->pid;
	int r;

	link->pid = 0;
	do
		r = waitid(P_PID, (id_t)pid, ret_info, WEXITED);
	while (r < 0 && errno == EINTR);
	return r == 0;
}

void record_link_done(struct record_link *link)
{
	siginfo_t info;

	if (link->pid > 0) {
		(void)kill(link->pid, SIGKILL);
		(void)wait_for_end(link, &info);
	}
	engine_servers_done(&link->servers);
	closep(&link->broker_fd);
	closep(&link->capture_fd);
	closep(&link->message_fd);
}

/* An engine that closed its sockets but goes on is of no use. */
static void end_soon(const struct record_link *link)
{
	_cleanup_close_ int pidfd = pidfd_open(link->pid, 0);
	struct pollfd fd = { .fd = pidfd, .events = POLLIN };

	if (pidfd < 0 || poll(&fd, 1, END_TIMEOUT_MS) <= 0)
		(void)kill(link->pid, SIGKILL);
}

/* Always an error: says how it has ended. */
static int report_end(struct record_link *link, struct fault *fault)
{
	siginfo_t info = { 0 };

	end_soon(link);
	if (!wait_for_end(link, &info) || (info.si_code == CLD_EXITED && info.si_status == 0))
		return fault_set(fault, -EPROTO, "the process that reads the samples has ended");
	if (info.si_code == CLD_EXITED)
		return fault_set(fault, -ECHILD,
			"the process that reads the samples has ended with status %d",
			info.si_status);
	return fault_set(fault, -ECHILD,
		"the process that reads the samples was killed by signal %d (%s)%s", info.si_status,
		strsignal(info.si_status),
		info.si_status == SIGKILL ? "; `dmesg` shows whether memory was short" : "");
}

/* --- messages --------------------------------------------------------------------------------- */

int record_link_connect(
	struct record_link *link, const struct capture_grant *grant, struct fault *fault)
{
	const struct engine_servers_options options = {
		.opens_closed_folders = true, .has_unlimited_requests = true, .grant = grant
	};
	int r = engine_servers_init(&link->servers, &options);

	if (r == 0)
		r = engine_servers_connect(&link->servers, &link->broker_fd, &link->capture_fd);
	if (r < 0)
		return fault_set(fault, r, "cannot serve the process that reads the samples: %s",
			strerror(-r));
	return 0;
}

int record_link_send(struct record_link *link, const struct record_message *message, int passed_fd)
{
	int r = record_message_send(link->message_fd, message, passed_fd);

	/* Receiving reports that it is gone, and how it ended, too. */
	return r == -EPIPE ? 0 : r;
}

int record_link_send_type(struct record_link *link, enum record_message_type type)
{
	return record_link_send(link, &(struct record_message){ .type = type }, -1);
}

static int receive(
	struct record_link *link, struct record_message *ret_message, struct fault *fault)
{
	int r = record_message_receive(link->message_fd, ret_message, NULL);

	if (r == -EAGAIN)
		return 0;
	if (r == -EPIPE)
		return report_end(link, fault);
	if (r < 0)
		return fault_set(fault, r,
			"the process that reads the samples has sent no valid message: %s",
			strerror(-r));
	link->has_reported |= ret_message->type == RECORD_FAILED;
	return ret_message->type == RECORD_FAILED ? -ECANCELED : 1;
}

int record_link_serve(struct record_link *link, struct pollfd *fds, size_t count, int timeout_ms,
	struct record_message *ret_message, struct fault *fault)
{
	struct pollfd *own = fds + count;

	own[0] = (struct pollfd){ .fd = link->message_fd, .events = POLLIN };
	engine_servers_fill_pollfds(&link->servers, own + 1);
	if (poll(fds, count + RECORD_LINK_FDS, timeout_ms) < 0) {
		if (errno != EINTR)
			return fault_set(fault, -errno, "cannot wait: %s", strerror(errno));
		for (size_t i = 0; i < count + RECORD_LINK_FDS; i++)
			fds[i].revents = 0;
	}
	engine_servers_handle(&link->servers, own + 1);
	/* Whatever poll() has seen: a message that came before a signal counts first. */
	return receive(link, ret_message, fault);
}

int record_link_check(
	const struct record_message *message, enum record_message_type type, struct fault *fault)
{
	if (message->type == type)
		return 0;
	return fault_set(fault, -EPROTO,
		"the process that reads the samples has sent message %u instead of %u",
		message->type, (unsigned)type);
}

int record_link_expect(struct record_link *link, int interrupt_fd, enum record_message_type type,
	struct record_message *ret_message, struct fault *fault)
{
	struct pollfd fds[1 + RECORD_LINK_FDS] = { { .fd = interrupt_fd, .events = POLLIN } };
	int r;

	while ((r = record_link_serve(link, fds, 1, -1, ret_message, fault)) == 0)
		if (fds[0].revents)
			return fault_set(fault, -EINTR,
				"interrupted while waiting for the process that reads the "
				"samples; nothing is written");
	return r < 0 ? r : record_link_check(ret_message, type, fault);
}

int record_link_finish(struct record_link *link, struct fault *fault)
{
	struct fault end = { 0 };
	struct record_message message;
	int r = record_link_expect(link, -1, RECORD_MESSAGE_TYPES, &message, &end);

	/* It has ended, as it should. */
	if (link->pid == 0)
		return 0;
	return fault_set(fault, r, "%s", end.text[0] ? end.text : strerror(-r));
}
