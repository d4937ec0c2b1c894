/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "supervise/role_process.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "sandbox/sandbox.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/wait.h>

/* The first number for temporary copies of descriptors. */
enum { SPARE_NUMBER_MIN = ROLE_DESCRIPTOR_NUMBER_MAX + 1 };

static int reset_signals(void)
{
	const struct sigaction action = { .sa_handler = SIG_DFL };
	sigset_t none;

	/* Fails only for signals whose disposition cannot change. */
	for (int number = 1; number < NSIG; number++)
		(void)sigaction(number, &action, NULL);
	(void)sigemptyset(&none);
	return sigprocmask(SIG_SETMASK, &none, NULL) < 0 ? -errno : 0;
}

/* A process without a terminal has no use for standard input. */
static int empty_standard_input(void)
{
	_cleanup_close_ int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	return fd < 0 || dup2(fd, STDIN_FILENO) < 0 ? -errno : 0;
}

/* Copies descriptors to spare numbers first, since a target number may hold another source. Moves
 * `*error_fd` out of the way too. */
static int place_descriptors(const struct role_process_options *options, int *error_fd)
{
	bool is_taken[ROLE_DESCRIPTOR_NUMBER_MAX + 1] = { true, true, true };
	int spares[ROLE_DESCRIPTOR_NUMBER_MAX + 1];

	*error_fd = fcntl(*error_fd, F_DUPFD_CLOEXEC, SPARE_NUMBER_MIN);
	if (*error_fd < 0)
		return -errno;
	for (size_t i = 0; i < options->descriptor_count; i++) {
		spares[i] = fcntl(options->descriptors[i].fd, F_DUPFD_CLOEXEC, SPARE_NUMBER_MIN);
		if (spares[i] < 0)
			return -errno;
	}
	for (size_t i = 0; i < options->descriptor_count; i++) {
		if (dup2(spares[i], options->descriptors[i].number) < 0)
			return -errno;
		is_taken[options->descriptors[i].number] = true;
	}
	for (int number = 0; number <= ROLE_DESCRIPTOR_NUMBER_MAX; number++)
		if (!is_taken[number])
			(void)close(number);
	/* Descriptors without O_CLOEXEC, for example those that a careless parent left open. */
	return close_range(SPARE_NUMBER_MIN, UINT_MAX, CLOSE_RANGE_CLOEXEC) < 0 ? -errno : 0;
}

/* Runs in the new process. Returns -errno; on success it does not return. */
static int become(const struct role_process_options *options, int *error_fd)
{
	int r;

	if (setsid() < 0)
		return -errno;
	r = empty_standard_input();
	if (r == 0)
		r = place_descriptors(options, error_fd);
	if (r == 0 && !options->keeps_privileges)
		r = sandbox_drop_privileges_to(options->user, options->group);
	if (r == 0)
		r = reset_signals();
	if (r < 0)
		return r;
	(void)execve(options->program ? options->program : "/proc/self/exe", options->arguments,
		options->environment);
	return -errno;
}

/* Returns 0 once exec() closed the pipe, or the error that the process sent. */
static int wait_for_exec(int error_fd)
{
	ssize_t size;
	int r;

	do
		size = read(error_fd, &r, sizeof(r));
	while (size < 0 && errno == EINTR);
	if (size < 0)
		return -errno;
	return size == sizeof(r) ? r : 0;
}

int role_process_start(const struct role_process_options *options, pid_t *ret_pid)
{
	_cleanup_close_ int read_fd = -1;
	int error_fd = -1, fds[2], r;
	pid_t pid;

	assert(options->descriptor_count <= ROLE_DESCRIPTOR_NUMBER_MAX - STDERR_FILENO);
	for (size_t i = 0; i < options->descriptor_count; i++)
		assert(options->descriptors[i].number > STDERR_FILENO &&
			options->descriptors[i].number <= ROLE_DESCRIPTOR_NUMBER_MAX);
	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	read_fd = fds[0];
	error_fd = fds[1];
	pid = fork();
	if (pid == 0) {
		r = become(options, &error_fd);
		(void)!write(error_fd, &r, sizeof(r));
		_exit(127);
	}
	r = pid < 0 ? -errno : 0;
	(void)close(error_fd);
	if (r < 0)
		return r;
	r = wait_for_exec(read_fd);
	if (r == 0) {
		*ret_pid = pid;
		return 0;
	}
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return r;
}
