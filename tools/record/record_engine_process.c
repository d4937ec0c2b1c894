/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/record/record_engine_process.h"

#include "base/array.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/wait.h>

enum { SOCKETS = 3, SPARE_FD_MIN = RECORD_MESSAGE_FD + 1, END_PATIENCE_MS = 5000 };

static const int numbers[SOCKETS] = { RECORD_BROKER_FD, RECORD_CAPTURE_FD, RECORD_MESSAGE_FD };

/* By way of spare numbers, as a wanted one may be that of another one. */
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

static int fork_engine(struct record_engine_process *process, int (*run)(const void *context),
	const void *context, const int fds[SOCKETS])
{
	process->pid = fork();
	if (process->pid < 0) {
		process->pid = 0;
		return -errno;
	}
	/* Nothing of what this process would do at its exit is the engine's to do. */
	if (process->pid == 0)
		_exit(place_descriptors(fds) < 0 ? EXIT_FAILURE : run(context));
	return 0;
}

static void close_all(int *fds, size_t count)
{
	for (size_t i = 0; i < count; i++)
		closep(&fds[i]);
}

int record_engine_process_start(int (*run)(const void *context), const void *context,
	struct record_engine_process **ret_process, struct fault *fault)
{
	_cleanup_(record_engine_process_freep) struct record_engine_process *process =
		calloc(1, sizeof(*process));
	int *own_fds[SOCKETS], fds[SOCKETS] = { -1, -1, -1 };
	int r = 0;

	if (!process)
		return fault_set(fault, -ENOMEM, "out of memory");
	process->broker_fd = process->capture_fd = process->message_fd = -1;
	own_fds[0] = &process->broker_fd;
	own_fds[1] = &process->capture_fd;
	own_fds[2] = &process->message_fd;
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
		r = fork_engine(process, run, context, fds);
	close_all(fds, SOCKETS);
	if (r < 0)
		return fault_set(
			fault, r, "cannot start a process without privileges: %s", strerror(-r));
	*ret_process = TAKE_PTR(process);
	return 0;
}

/* Returns false where nobody knows, as where our caller has the kernel ignore children. */
static bool wait_for_end(struct record_engine_process *process, siginfo_t *ret_info)
{
	pid_t pid = process->pid;
	int r;

	process->pid = 0;
	do
		r = waitid(P_PID, (id_t)pid, ret_info, WEXITED);
	while (r < 0 && errno == EINTR);
	return r == 0;
}

void record_engine_process_free(struct record_engine_process *process)
{
	siginfo_t info;

	if (!process)
		return;
	if (process->pid > 0) {
		(void)kill(process->pid, SIGKILL);
		(void)wait_for_end(process, &info);
	}
	closep(&process->broker_fd);
	closep(&process->capture_fd);
	closep(&process->message_fd);
	free(process);
}

/* One that has closed its sockets and goes on has nobody to be there for. */
static void end_soon(const struct record_engine_process *process)
{
	_cleanup_close_ int pidfd = pidfd_open(process->pid, 0);
	struct pollfd fd = { .fd = pidfd, .events = POLLIN };

	if (pidfd < 0 || poll(&fd, 1, END_PATIENCE_MS) <= 0)
		(void)kill(process->pid, SIGKILL);
}

int record_engine_process_end(struct record_engine_process *process, struct fault *fault)
{
	siginfo_t info = { 0 };

	end_soon(process);
	if (!wait_for_end(process, &info))
		return fault_set(fault, -ECHILD, "the process that reads the samples has ended");
	if (info.si_code == CLD_EXITED && info.si_status == 0)
		return 0;
	if (info.si_code == CLD_EXITED)
		return fault_set(fault, -ECHILD,
			"the process that reads the samples has ended with status %d",
			info.si_status);
	return fault_set(fault, -ECHILD,
		"the process that reads the samples was killed by signal %d (%s)%s", info.si_status,
		strsignal(info.si_status),
		info.si_status == SIGKILL ? "; `dmesg` tells whether memory was short" : "");
}
