/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "broker/broker_children.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "broker/child_kind.h"
#include "broker/child_service.h"
#include "broker/child_spawn.h"
#include "pilotlight/broker_request.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/wait.h>

/* A killed process can stay in the kernel while a disk does not answer. */
enum { DONE_WAIT_MS = 500 };

static const struct broker_child_process no_process = {
	.pidfd = -1,
	.timer_fd = -1,
	.end_fd = -1,
};

static int copy_socket(struct broker_children *children, enum broker_child kind, const char *path)
{
	if (!path)
		return 0;
	children->sockets[kind] = strdup(path);
	return children->sockets[kind] ? 0 : -ENOMEM;
}

static int copy_config(struct broker_children *children, int fd)
{
	if (fd == 0)
		return 0;
	/* For child_spawn(). */
	children->config_fd = fcntl(fd, F_DUPFD_CLOEXEC, CHILD_SPAWN_FILE_NUMBER + 1);
	if (children->config_fd >= 0)
		return 0;
	children->config_fd = 0;
	return -errno;
}

int broker_children_init(
	struct broker_children *children, const struct broker_options *options, int epoll_fd)
{
	int r;

	*children = (struct broker_children){ .epoll_fd = epoll_fd };
	for (size_t i = 0; i < BROKER_CHILDREN_MAX; i++)
		children->processes[i] = no_process;
	children->timeout_ns = options && options->child_timeout_ns ? options->child_timeout_ns
								    : BROKER_CHILD_TIMEOUT_NS;
	if (options && options->program) {
		children->program = strdup(options->program);
		if (!children->program)
			return -ENOMEM;
	}
	r = options ? copy_socket(children, BROKER_CHILD_SYMBOL_FETCH, options->fetch_socket) : 0;
	if (r == 0 && options)
		r = copy_socket(children, BROKER_CHILD_SINK_SEND, options->send_socket);
	return r == 0 && options ? copy_config(children, options->config_fd) : r;
}

static void kill_process(struct broker_children *children, struct broker_child_process *process)
{
	if (process->is_killed)
		return;
	process->is_killed = true;
	(void)pidfd_send_signal(process->pidfd, SIGKILL, NULL, 0);
	children->counters.killed++;
	/* Otherwise they would stay ready and epoll would never sleep. */
	(void)epoll_ctl(children->epoll_fd, EPOLL_CTL_DEL, process->timer_fd, NULL);
	(void)epoll_ctl(children->epoll_fd, EPOLL_CTL_DEL, process->end_fd, NULL);
}

static void process_close(struct broker_child_process *process)
{
	closep(&process->pidfd);
	closep(&process->timer_fd);
	closep(&process->end_fd);
	*process = no_process;
}

void broker_children_done(struct broker_children *children)
{
	for (size_t i = 0; i < BROKER_CHILDREN_MAX; i++)
		if (children->processes[i].pid > 0)
			kill_process(children, &children->processes[i]);
	for (size_t i = 0; i < BROKER_CHILDREN_MAX; i++) {
		struct broker_child_process *process = &children->processes[i];

		struct pollfd end = { .fd = process->pidfd, .events = POLLIN };

		if (process->pid == 0)
			continue;
		(void)poll(&end, 1, DONE_WAIT_MS);
		(void)waitpid(process->pid, NULL, WNOHANG);
		process_close(process);
	}
	free(children->program);
	children->program = NULL;
	if (children->config_fd > 0)
		(void)close(TAKE_FD(children->config_fd));
	children->config_fd = 0;
	for (size_t i = 0; i < BROKER_CHILDREN; i++) {
		free(children->sockets[i]);
		children->sockets[i] = NULL;
	}
}

static int open_timer(uint64_t timeout_ns, int *ret_fd)
{
	const struct itimerspec timer = {
		.it_value = { .tv_sec = (time_t)(timeout_ns / NSEC_PER_SEC),
			.tv_nsec = (long)(timeout_ns % NSEC_PER_SEC) },
	};
	_cleanup_close_ int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);

	if (fd < 0 || timerfd_settime(fd, 0, &timer, NULL) < 0)
		return -errno;
	*ret_fd = TAKE_FD(fd);
	return 0;
}

static int watch(const struct broker_children *children, int fd)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLRDHUP };

	return epoll_ctl(children->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

struct wanted_child {
	enum broker_child kind;
	char *const *arguments;
	int socket_fd; /* borrowed */
};

static int spawn(const struct broker_children *children, const struct wanted_child *wanted,
	struct broker_child_process *process)
{
	static char config[] = "PILOTLIGHT_CONFIG=/proc/self/fd/4";
	/* Of variables with one name the first counts. */
	char *environment[1 + CHILD_KIND_VARIABLES_MAX + 1] = { config };
	const bool has_config = wanted->kind == BROKER_CHILD_SINK_SEND && children->config_fd > 0;
	const struct child_spawn child = {
		.program = children->program,
		.arguments = wanted->arguments,
		.environment = has_config ? environment : environment + 1,
		.socket_fd = wanted->socket_fd,
		.file_fd = has_config ? children->config_fd : 0,
	};

	_Static_assert((int)CHILD_SPAWN_FILE_NUMBER == 4, "the number in the variable");
	child_kind_environment(wanted->kind, environment + 1);
	/*
	 * This process needs its capabilities, but no child does. Without ambient capabilities only
	 * root passes any on through exec.
	 */
	(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	return child_spawn(&child, &process->pid, &process->pidfd);
}

/* Everything that can fail comes before the child exists, except watching the child itself. */
static int start(struct broker_children *children, const struct wanted_child *wanted,
	struct broker_child_process *process)
{
	int r = open_timer(children->timeout_ns, &process->timer_fd);

	if (r == 0)
		r = watch(children, process->timer_fd);
	if (r == 0)
		r = watch(children, process->end_fd);
	if (r == 0)
		r = spawn(children, wanted, process);
	if (r < 0)
		return r;
	r = watch(children, process->pidfd);
	if (r < 0) {
		(void)pidfd_send_signal(process->pidfd, SIGKILL, NULL, 0);
		while (waitpid(process->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	return r;
}

static int open_pair(int *ret_ours, int *ret_others)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	*ret_ours = pair[0];
	*ret_others = pair[1];
	return 0;
}

static int start_in(struct broker_children *children, struct broker_child_process *process,
	enum broker_child kind, int ret_fds[2])
{
	_cleanup_close_ int socket_fd = -1, client_socket_fd = -1, client_end_fd = -1;
	struct wanted_child wanted = { .kind = kind, .arguments = child_kind_arguments(kind) };
	int r = open_pair(&client_socket_fd, &socket_fd);

	wanted.socket_fd = socket_fd;
	if (r == 0)
		r = open_pair(&process->end_fd, &client_end_fd);
	if (r == 0)
		r = start(children, &wanted, process);
	if (r < 0) {
		process_close(process);
		return r;
	}
	ret_fds[0] = TAKE_FD(client_socket_fd);
	ret_fds[1] = TAKE_FD(client_end_fd);
	return 0;
}

/* Returns a free slot, or NULL. */
static struct broker_child_process *find_slot(struct broker_children *children)
{
	for (size_t i = 0; i < BROKER_CHILDREN_MAX; i++)
		if (children->processes[i].pid == 0)
			return &children->processes[i];
	return NULL;
}

static int start_in_service(
	const struct broker_children *children, enum broker_child kind, int ret_fds[2])
{
	_cleanup_close_ int socket_fd = -1, end_fd = -1, client_socket_fd = -1, client_end_fd = -1;
	int r = open_pair(&client_socket_fd, &socket_fd);

	if (r == 0)
		r = open_pair(&client_end_fd, &end_fd);
	if (r == 0)
		r = child_service_start(children->sockets[kind], kind,
			(const int[]){ socket_fd, end_fd,
				kind == BROKER_CHILD_SINK_SEND ? children->config_fd : 0 });
	if (r < 0)
		return r;
	ret_fds[0] = TAKE_FD(client_socket_fd);
	ret_fds[1] = TAKE_FD(client_end_fd);
	return 0;
}

static int start_somewhere(struct broker_children *children, uint32_t kind, int ret_fds[2])
{
	struct broker_child_process *slot;

	if (kind >= BROKER_CHILDREN)
		return -EINVAL;
	if (children->sockets[kind])
		return start_in_service(children, (enum broker_child)kind, ret_fds);
	slot = find_slot(children);
	return slot ? start_in(children, slot, (enum broker_child)kind, ret_fds) : -EAGAIN;
}

int broker_children_start(struct broker_children *children, uint32_t kind, int ret_fds[2])
{
	int r = start_somewhere(children, kind, ret_fds);

	if (r == 0)
		children->counters.started++;
	else
		children->counters.refused++;
	if (r == -ENETDOWN)
		children->counters.without_service[kind]++;
	return r;
}

int broker_children_adopt(struct broker_children *children, enum broker_child kind, int fds[2])
{
	_cleanup_close_ int socket_fd = fds[0], end_fd = fds[1];
	struct broker_child_process *slot = find_slot(children);
	const struct wanted_child wanted = {
		.kind = kind,
		.arguments = child_kind_service_arguments(kind),
		.socket_fd = socket_fd,
	};
	int r;

	if (!slot)
		return -EAGAIN;
	slot->end_fd = TAKE_FD(end_fd);
	r = start(children, &wanted, slot);
	if (r < 0)
		process_close(slot);
	return r;
}

bool broker_children_are_running(const struct broker_children *children)
{
	for (size_t i = 0; i < BROKER_CHILDREN_MAX; i++)
		if (children->processes[i].pid > 0)
			return true;
	return false;
}

/* Returns whether the child has ended, and frees its slot then. */
static bool reap(struct broker_child_process *process)
{
	struct pilotlight_child_end end = { 0 };
	struct rusage usage = { 0 };
	/* Reported if other code in this process reaped the child, so that its status is lost. */
	int status = SIGKILL;

	if (wait4(process->pid, &status, WNOHANG, &usage) == 0)
		return false;
	end.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	end.exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
	end.cpu_ns = clock_rusage_cpu_ns(&usage);
	(void)send(process->end_fd, &end, sizeof(end), MSG_DONTWAIT | MSG_NOSIGNAL);
	process_close(process);
	return true;
}

/* A refusal does no harm: the child keeps its policy. */
static void set_policy(const struct broker_child_process *process, int policy)
{
	const struct sched_param parameters = { 0 };

	(void)sched_setscheduler(process->pid, policy, &parameters);
}

/* Applies the client's message, if any. Returns false if the child must end. */
static bool apply_message(const struct broker_child_process *process)
{
	uint8_t word;
	ssize_t size = recv(process->end_fd, &word, sizeof(word), MSG_DONTWAIT | MSG_TRUNC);

	if (size < 0)
		return errno == EAGAIN || errno == EINTR;
	if (size != sizeof(word))
		return false;
	switch (word) {
	case PILOTLIGHT_CHILD_IDLE:
		set_policy(process, SCHED_IDLE);
		return true;
	case PILOTLIGHT_CHILD_NORMAL:
		set_policy(process, SCHED_OTHER);
		return true;
	}
	return false;
}

static bool must_end(const struct broker_child_process *process)
{
	uint64_t expirations;

	return read(process->timer_fd, &expirations, sizeof(expirations)) == sizeof(expirations) ||
	       !apply_message(process);
}

void broker_children_run(struct broker_children *children)
{
	for (size_t i = 0; i < BROKER_CHILDREN_MAX; i++) {
		struct broker_child_process *process = &children->processes[i];

		if (process->pid > 0 && !reap(process) && !process->is_killed && must_end(process))
			kill_process(children, process);
	}
}
