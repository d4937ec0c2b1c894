/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "child/child_process.h"

#include "base/array.h"
#include "base/clock.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>

/* Where the child's descriptors are put by while its numbers are filled. */
enum { SPARE_NUMBER_MIN = CHILD_DESCRIPTOR_NUMBER_MAX + 1 };

struct child_process {
	pid_t pid;
	int pidfd;
	int socket_fd; /* -1: it has answered, or will not */
	int timer_fd;  /* -1: it has been killed */
	int epoll_fd;
	bool takes_fd;
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
	(void)pidfd_send_signal(child->pidfd, SIGKILL, NULL, 0);
}

void child_process_free(struct child_process *child)
{
	if (!child)
		return;
	if (child->pid > 0 && !child->has_ended) {
		if (child->pidfd >= 0)
			kill_child(child);
		else
			(void)kill(child->pid, SIGKILL);
		while (waitpid(child->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	close_fd(&child->socket_fd);
	close_fd(&child->timer_fd);
	close_fd(&child->pidfd);
	close_fd(&child->epoll_fd);
	close_fd(&child->end.reply_fd);
	free(child);
}

/* What the child begins with. */
struct plan {
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	bool has_files, has_attributes;
	int spares[CHILD_DESCRIPTORS_MAX + 2];
	size_t spare_count;
};

static void plan_done(struct plan *plan)
{
	if (plan->has_files)
		(void)posix_spawn_file_actions_destroy(&plan->files);
	if (plan->has_attributes)
		(void)posix_spawnattr_destroy(&plan->attributes);
	for (size_t i = 0; i < plan->spare_count; i++)
		(void)close(plan->spares[i]);
}

/* By way of a spare number, as the wanted one may be that of another one to be passed on. */
static int plan_descriptor(struct plan *plan, int fd, int number)
{
	int spare = fcntl(fd, F_DUPFD_CLOEXEC, SPARE_NUMBER_MIN);

	if (spare < 0)
		return -errno;
	assert(plan->spare_count < ARRAY_SIZE(plan->spares));
	plan->spares[plan->spare_count++] = spare;
	return -posix_spawn_file_actions_adddup2(&plan->files, spare, number);
}

static int plan_standard_descriptors(struct plan *plan)
{
	_cleanup_close_ int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	int r;

	if (fd < 0)
		return -errno;
	r = plan_descriptor(plan, fd, STDERR_FILENO);
	for (int number = STDIN_FILENO; number < STDERR_FILENO && r == 0; number++)
		r = -posix_spawn_file_actions_adddup2(&plan->files, STDERR_FILENO, number);
	return r;
}

static int plan_files(struct plan *plan, const struct child_process_options *options, int socket_fd)
{
	bool is_taken[CHILD_DESCRIPTOR_NUMBER_MAX + 1] = { false };
	int r = plan_standard_descriptors(plan);

	is_taken[options->socket_number] = true;
	if (r == 0)
		r = plan_descriptor(plan, socket_fd, options->socket_number);
	for (size_t i = 0; i < options->descriptor_count && r == 0; i++) {
		const struct child_descriptor *descriptor = &options->descriptors[i];

		assert(descriptor->number > STDERR_FILENO &&
			descriptor->number <= CHILD_DESCRIPTOR_NUMBER_MAX &&
			!is_taken[descriptor->number]);
		if (descriptor->fd < 0)
			continue;
		is_taken[descriptor->number] = true;
		r = plan_descriptor(plan, descriptor->fd, descriptor->number);
	}
	for (int number = STDERR_FILENO + 1; number <= CHILD_DESCRIPTOR_NUMBER_MAX; number++)
		if (r == 0 && !is_taken[number])
			r = -posix_spawn_file_actions_addclose(&plan->files, number);
	if (r == 0)
		r = -posix_spawn_file_actions_addclosefrom_np(&plan->files, SPARE_NUMBER_MIN);
	return r;
}

static int plan_attributes(struct plan *plan)
{
	sigset_t none, all;
	int r;

	(void)sigemptyset(&none);
	(void)sigfillset(&all);
	r = -posix_spawnattr_setflags(&plan->attributes,
		POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	if (r == 0)
		r = -posix_spawnattr_setsigmask(&plan->attributes, &none);
	if (r == 0)
		r = -posix_spawnattr_setsigdefault(&plan->attributes, &all);
	return r;
}

static int spawn(const struct child_process_options *options, int socket_fd, pid_t *ret_pid)
{
	_cleanup_(plan_done) struct plan plan = { 0 };
	const char *program = options->program ? options->program : "/proc/self/exe";
	int r;

	assert(options->descriptor_count <= CHILD_DESCRIPTORS_MAX);
	r = -posix_spawn_file_actions_init(&plan.files);
	if (r < 0)
		return r;
	plan.has_files = true;
	r = -posix_spawnattr_init(&plan.attributes);
	if (r < 0)
		return r;
	plan.has_attributes = true;
	r = plan_files(&plan, options, socket_fd);
	if (r == 0)
		r = plan_attributes(&plan);
	if (r == 0)
		r = -posix_spawn(ret_pid, program, &plan.files, &plan.attributes,
			options->arguments, options->environment);
	return r;
}

static int watch(struct child_process *child, int fd)
{
	struct epoll_event event = { .events = EPOLLIN };

	return epoll_ctl(child->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

/* All but the process itself. */
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
	return r;
}

int child_process_start(
	const struct child_process_options *options, struct child_process **ret_child)
{
	_cleanup_(child_process_freep) struct child_process *child = calloc(1, sizeof(*child));
	_cleanup_close_ int other_fd = -1;
	int sockets[2];
	int r;

	if (!child)
		return -ENOMEM;
	child->pidfd = child->socket_fd = child->timer_fd = child->epoll_fd = -1;
	child->end.reply_fd = -1;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0)
		return -errno;
	child->socket_fd = sockets[0];
	other_fd = sockets[1];
	/* Before there is anybody at the other end, who could refuse it. */
	if (options->request && send(child->socket_fd, options->request, options->request_bytes,
					MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		return -errno;
	r = open_descriptors(child, options->timeout_ns);
	if (r < 0)
		return r;
	r = spawn(options, other_fd, &child->pid);
	if (r < 0) {
		child->pid = 0;
		return r;
	}
	child->pidfd = pidfd_open(child->pid, 0);
	if (child->pidfd < 0)
		return -errno;
	r = watch(child, child->pidfd);
	if (r < 0)
		return r;
	child->takes_fd = options->takes_fd;
	*ret_child = TAKE_PTR(child);
	return 0;
}

pid_t child_process_id(const struct child_process *child)
{
	return child->pid;
}

int child_process_poll_fd(const struct child_process *child)
{
	return child->epoll_fd;
}

/* The descriptor that came with a message; what more of them there were, the kernel has closed. */
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

/* Takes the message that there is. After the first one, or the socket's end, the child has nothing
 * more to do. */
static void receive(struct child_process *child)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec bytes = { child->end.reply, sizeof(child->end.reply) };
	struct msghdr message = { .msg_iov = &bytes, .msg_iovlen = 1 };
	ssize_t size;

	if (child->takes_fd) {
		message.msg_control = control;
		/* Not CMSG_SPACE(), in whose padding there is room for another descriptor. */
		message.msg_controllen = CMSG_LEN(sizeof(int));
	}
	/* An end that left its request unread is told, once, before what it said. */
	do
		size = recvmsg(child->socket_fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	while (size < 0 && (errno == EINTR || errno == ECONNRESET));
	if (size < 0 && errno == EAGAIN)
		return;
	if (size > 0 && child->takes_fd)
		child->end.reply_fd = received_fd(&message);
	if (size > 0 && !(message.msg_flags & MSG_TRUNC))
		child->end.reply_bytes = (size_t)size;
	kill_child(child);
}

int child_process_take(struct child_process *child, struct child_process_end *ret_end)
{
	siginfo_t info = { 0 };
	uint64_t expirations;

	assert(!child->has_ended);
	if (child->socket_fd >= 0)
		receive(child);
	if (child->timer_fd >= 0 &&
		read(child->timer_fd, &expirations, sizeof(expirations)) == sizeof(expirations)) {
		child->end.has_timed_out = true;
		kill_child(child);
	}
	if (waitid(P_PIDFD, (id_t)child->pidfd, &info, WEXITED | WNOHANG) == 0 && info.si_pid == 0)
		return -EAGAIN;
	child->has_ended = true;
	/* What it said after we had looked, and before its end. */
	if (child->socket_fd >= 0)
		receive(child);
	if (info.si_code == CLD_EXITED)
		child->end.exit_status = info.si_status;
	else
		child->end.signal = info.si_status;
	*ret_end = child->end;
	child->end.reply_fd = -1;
	return 0;
}
