/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/record/workload_command.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>

struct workload_command {
	char **argv; /* borrowed */
	pid_t pid;
	int pidfd;
	int start_fd; /* a byte starts the child; closing it without one ends the child */
	int error_fd; /* the child's errno, if execve() failed */
	bool is_started;
	bool has_ended;
	int status; /* then, as a shell reports it */
};

/* What the child must get as our caller had it. */
struct inherited {
	const sigset_t *mask;
	void (*on_child)(int);
};

static void run_child(char **argv, const struct inherited *inherited, int start_fd, int error_fd)
{
	char byte;
	int error;

	/* With our mask until then: an early Ctrl-C must end the recording first. */
	if (read(start_fd, &byte, 1) != 1)
		_exit(127);
	(void)signal(SIGPIPE, SIG_DFL);
	(void)signal(SIGCHLD, inherited->on_child);
	(void)sigprocmask(SIG_SETMASK, inherited->mask, NULL);
	(void)execvp(argv[0], argv);
	error = errno;
	(void)!write(error_fd, &error, sizeof(error));
	_exit(error == ENOENT ? 127 : 126);
}

int workload_command_fork(char **argv, const sigset_t *mask, struct workload_command **ret_command,
	struct fault *fault)
{
	_cleanup_(workload_command_freep) struct workload_command *command =
		calloc(1, sizeof(*command));
	_cleanup_close_ int start_fd = -1, error_fd = -1;
	struct inherited inherited = { .mask = mask };
	int ends[2];

	if (!command)
		return fault_set(fault, -ENOMEM, "out of memory");
	command->argv = argv;
	command->pidfd = command->start_fd = command->error_fd = -1;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return fault_set(fault, -errno, "cannot make a pipe: %s", strerror(errno));
	start_fd = ends[0];
	command->start_fd = ends[1];
	if (pipe2(ends, O_CLOEXEC) < 0)
		return fault_set(fault, -errno, "cannot make a pipe: %s", strerror(errno));
	command->error_fd = ends[0];
	error_fd = ends[1];
	/* Our caller may have ignored it, and then the kernel keeps no exit status. */
	inherited.on_child = signal(SIGCHLD, SIG_DFL);
	command->pid = fork();
	if (command->pid == 0) {
		/* With our end of the start pipe open, the child would wait for itself. */
		(void)close(command->start_fd);
		run_child(argv, &inherited, start_fd, error_fd);
	}
	if (command->pid < 0)
		return fault_set(fault, -errno, "cannot fork: %s", strerror(errno));
	command->pidfd = (int)syscall(SYS_pidfd_open, command->pid, 0);
	if (command->pidfd < 0)
		return fault_set(fault, -errno, "cannot watch the command: %s", strerror(errno));
	*ret_command = TAKE_PTR(command);
	return 0;
}

pid_t workload_command_pid(const struct workload_command *command)
{
	return command->pid;
}

int workload_command_poll_fd(const struct workload_command *command)
{
	return command->pidfd;
}

/*
 * Looks whether it has ended; `options` is 0 or WNOHANG. The zombie stays until
 * workload_command_free(): once reaped, its CPU time counts as ours (getrusage(2)).
 */
static void check_end(struct workload_command *command, int options)
{
	siginfo_t info = { 0 };
	int r;

	if (command->has_ended)
		return;
	do {
		r = waitid(P_PID, (id_t)command->pid, &info, WEXITED | WNOWAIT | options);
	} while (r < 0 && errno == EINTR);
	command->has_ended = r < 0 || info.si_pid != 0;
	if (r == 0 && command->has_ended)
		command->status = info.si_status + (info.si_code == CLD_EXITED ? 0 : 128);
}

int workload_command_start(struct workload_command *command, struct fault *fault)
{
	ssize_t size;
	int error = 0;

	if (write(command->start_fd, "", 1) != 1)
		return fault_set(fault, -EPIPE, "the command was killed before it began");
	command->is_started = true;
	/* The pipe closes with the child's execve(). */
	do {
		size = read(command->error_fd, &error, sizeof(error));
	} while (size < 0 && errno == EINTR);
	if (size != sizeof(error))
		return 0;
	check_end(command, 0);
	return fault_set(fault, -error, "cannot run '%s': %s", command->argv[0], strerror(error));
}

bool workload_command_is_running(struct workload_command *command)
{
	check_end(command, WNOHANG);
	return !command->has_ended;
}

int workload_command_status(const struct workload_command *command)
{
	return command->status;
}

/* Returns whether `interrupt_fd` became readable first. */
static bool wait_for_end(const struct workload_command *command, int interrupt_fd, int timeout_ms)
{
	uint64_t end_ns = clock_monotonic_ns() + (uint64_t)timeout_ms * 1000000;
	struct pollfd fds[] = {
		{ .fd = command->pidfd, .events = POLLIN },
		{ .fd = interrupt_fd, .events = POLLIN },
	};

	for (;;) {
		uint64_t now_ns = clock_monotonic_ns();
		uint64_t left_ns = now_ns < end_ns ? end_ns - now_ns : 0;
		int n = poll(fds, 2, (int)((left_ns + 999999) / 1000000));

		if (n > 0)
			return !fds[0].revents;
		if (n == 0 || errno != EINTR)
			return false;
	}
}

enum workload_end workload_command_end(
	struct workload_command *command, int interrupt_fd, int timeout_ms)
{
	bool is_interrupted;

	if (!workload_command_is_running(command))
		return WORKLOAD_END_DONE;
	if (kill(command->pid, SIGTERM) < 0)
		return WORKLOAD_END_IMPOSSIBLE;
	(void)kill(command->pid, SIGCONT);
	is_interrupted = wait_for_end(command, interrupt_fd, timeout_ms);
	if (!workload_command_is_running(command))
		return WORKLOAD_END_DONE;
	if (kill(command->pid, SIGKILL) < 0)
		return WORKLOAD_END_IMPOSSIBLE;
	/* A process stuck in the kernel must not hold us. */
	(void)wait_for_end(command, -1, timeout_ms);
	if (workload_command_is_running(command))
		return WORKLOAD_END_IMPOSSIBLE;
	return is_interrupted ? WORKLOAD_END_INTERRUPTED : WORKLOAD_END_KILLED;
}

void workload_command_free(struct workload_command *command)
{
	if (!command)
		return;
	if (command->start_fd >= 0)
		(void)close(command->start_fd);
	if (command->error_fd >= 0)
		(void)close(command->error_fd);
	if (command->pid > 0 && !command->is_started && !command->has_ended) {
		(void)kill(command->pid, SIGKILL);
		check_end(command, 0);
	}
	if (command->has_ended)
		(void)waitpid(command->pid, NULL, WNOHANG);
	if (command->pidfd >= 0)
		(void)close(command->pidfd);
	free(command);
}
