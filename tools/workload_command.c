/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/workload_command.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>

struct workload_command {
	char **argv; /* borrowed */
	pid_t pid;
	int pidfd;
	int start_fd; /* a byte lets the child go on; its end without one ends the child */
	int error_fd; /* the child's errno, if execve() failed */
	bool is_reaped;
	int wait_status;
};

static void run_child(char **argv, int start_fd, int error_fd)
{
	sigset_t none;
	char byte;
	int error;

	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)signal(SIGPIPE, SIG_DFL);
	if (read(start_fd, &byte, 1) != 1)
		_exit(127);
	(void)execvp(argv[0], argv);
	error = errno;
	(void)!write(error_fd, &error, sizeof(error));
	_exit(error == ENOENT ? 127 : 126);
}

int workload_command_fork(char **argv, struct workload_command **ret_command, struct fault *fault)
{
	_cleanup_(workload_command_freep) struct workload_command *command =
		calloc(1, sizeof(*command));
	int start[2] = { -1, -1 }, error[2] = { -1, -1 };

	if (!command)
		return fault_set(fault, -ENOMEM, "out of memory");
	command->argv = argv;
	command->pidfd = command->start_fd = command->error_fd = -1;
	if (pipe2(start, O_CLOEXEC) < 0)
		return fault_set(fault, -errno, "cannot make a pipe: %s", strerror(errno));
	command->start_fd = start[1];
	if (pipe2(error, O_CLOEXEC) < 0) {
		(void)close(start[0]);
		return fault_set(fault, -errno, "cannot make a pipe: %s", strerror(errno));
	}
	command->error_fd = error[0];
	command->pid = fork();
	if (command->pid == 0) {
		/* Our end of the start pipe must not keep the child waiting for itself. */
		(void)close(start[1]);
		run_child(argv, start[0], error[1]);
	}
	(void)close(start[0]);
	(void)close(error[1]);
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

int workload_command_start(struct workload_command *command, struct fault *fault)
{
	int error = 0;

	if (write(command->start_fd, "", 1) != 1)
		return fault_set(fault, -EPIPE, "the command ended before it began");
	/* The pipe closes with the child's execve(). */
	if (read(command->error_fd, &error, sizeof(error)) == sizeof(error))
		return fault_set(
			fault, -error, "cannot run '%s': %s", command->argv[0], strerror(error));
	return 0;
}

static void reap(struct workload_command *command)
{
	while (!command->is_reaped) {
		if (waitpid(command->pid, &command->wait_status, 0) >= 0 || errno != EINTR)
			command->is_reaped = true;
	}
}

int workload_command_finish(struct workload_command *command)
{
	if (!command->is_reaped &&
		waitpid(command->pid, &command->wait_status, WNOHANG) == command->pid)
		command->is_reaped = true;
	if (!command->is_reaped)
		(void)kill(command->pid, SIGTERM);
	reap(command);
	return WIFSIGNALED(command->wait_status) ? 128 + WTERMSIG(command->wait_status)
						 : WEXITSTATUS(command->wait_status);
}

void workload_command_free(struct workload_command *command)
{
	if (!command)
		return;
	if (command->start_fd >= 0)
		(void)close(command->start_fd);
	if (command->error_fd >= 0)
		(void)close(command->error_fd);
	if (command->pid > 0 && !command->is_reaped) {
		(void)kill(command->pid, SIGKILL);
		reap(command);
	}
	if (command->pidfd >= 0)
		(void)close(command->pidfd);
	free(command);
}
