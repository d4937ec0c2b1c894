/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "supervise/engine_process.h"

#include "base/clock.h"
#include "sandbox/sandbox.h"
#include "supervise/supervisor.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/wait.h>

enum {
	SOCKETS = ENGINE_LISTEN_FD - ENGINE_BROKER_FD,
	DESCRIPTORS_MAX = SOCKETS + ENGINE_LISTEN_MAX,
	/* The first number for temporary copies of descriptors. */
	SPARE_NUMBER_MIN = ENGINE_LISTEN_FD + ENGINE_LISTEN_MAX,
};

_Static_assert(
	ENGINE_CAPTURE_FD == ENGINE_BROKER_FD + 1 && ENGINE_NOTICE_FD == ENGINE_BROKER_FD + 2,
	"the sockets are adjacent");

static void close_fd(int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
	*fd = -1;
}

void engine_process_free(struct engine_process *engine)
{
	if (!engine)
		return;
	if (engine->pid > 0) {
		(void)kill(engine->pid, SIGKILL);
		while (waitpid(engine->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	close_fd(&engine->pidfd);
	close_fd(&engine->broker_fd);
	close_fd(&engine->capture_fd);
	close_fd(&engine->notice_fd);
	free(engine);
}

static int make_pair(int *ret_own_fd, int *ret_other_fd)
{
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0)
		return -errno;
	*ret_own_fd = fds[0];
	*ret_other_fd = fds[1];
	return 0;
}

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

/*
 * Copies descriptors to the numbers from ENGINE_BROKER_FD on, by way of spare numbers, since a
 * target number may hold another source. Moves `*error_fd` out of the way too.
 */
static int place_descriptors(const int fds[], size_t count, int *error_fd)
{
	int spares[DESCRIPTORS_MAX];

	*error_fd = fcntl(*error_fd, F_DUPFD_CLOEXEC, SPARE_NUMBER_MIN);
	if (*error_fd < 0)
		return -errno;
	for (size_t i = 0; i < count; i++) {
		spares[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, SPARE_NUMBER_MIN);
		if (spares[i] < 0)
			return -errno;
	}
	for (size_t i = 0; i < count; i++)
		if (dup2(spares[i], ENGINE_BROKER_FD + (int)i) < 0)
			return -errno;
	for (int number = ENGINE_BROKER_FD + (int)count; number < SPARE_NUMBER_MIN; number++)
		(void)close(number);
	/* Descriptors without O_CLOEXEC, for example those that a careless parent left open. */
	return close_range(SPARE_NUMBER_MIN, UINT_MAX, CLOSE_RANGE_CLOEXEC) < 0 ? -errno : 0;
}

/* Runs in the new process. Returns -errno; on success it does not return. */
static int become_engine(
	const struct engine_process_options *options, const int fds[], size_t count, int *error_fd)
{
	int r;

	if (setsid() < 0)
		return -errno;
	r = empty_standard_input();
	if (r == 0)
		r = place_descriptors(fds, count, error_fd);
	if (r == 0)
		r = sandbox_drop_privileges_to(geteuid(), getegid());
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

/* Waits until the process has called exec(). Returns 0, or -errno if any step up to it failed. */
static int start_process(
	const struct engine_process_options *options, const int fds[], size_t count, pid_t *ret_pid)
{
	_cleanup_close_ int read_fd = -1;
	int error_fd = -1, pair[2], r;
	pid_t pid;

	if (pipe2(pair, O_CLOEXEC) < 0)
		return -errno;
	read_fd = pair[0];
	error_fd = pair[1];
	pid = fork();
	if (pid == 0) {
		r = become_engine(options, fds, count, &error_fd);
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

int engine_process_start(
	const struct engine_process_options *options, struct engine_process **ret_engine)
{
	_cleanup_(engine_process_freep) struct engine_process *engine = calloc(1, sizeof(*engine));
	_cleanup_close_ int broker_fd = -1, capture_fd = -1, notice_fd = -1;
	int fds[DESCRIPTORS_MAX], r;

	assert(options->listen_count <= ENGINE_LISTEN_MAX);
	if (!engine)
		return -ENOMEM;
	engine->pidfd = engine->broker_fd = engine->capture_fd = engine->notice_fd = -1;
	r = make_pair(&engine->broker_fd, &broker_fd);
	if (r == 0)
		r = make_pair(&engine->capture_fd, &capture_fd);
	if (r == 0)
		r = make_pair(&engine->notice_fd, &notice_fd);
	if (r < 0)
		return r;
	fds[0] = broker_fd;
	fds[1] = capture_fd;
	fds[2] = notice_fd;
	for (size_t i = 0; i < options->listen_count; i++)
		fds[SOCKETS + i] = options->listen_fds[i];
	r = start_process(options, fds, SOCKETS + options->listen_count, &engine->pid);
	if (r < 0)
		return r;
	engine->started_ns = clock_monotonic_ns();
	engine->pidfd = pidfd_open(engine->pid, 0);
	if (engine->pidfd < 0)
		return -errno;
	*ret_engine = TAKE_PTR(engine);
	return 0;
}

void engine_process_signal(const struct engine_process *engine, int signal_number)
{
	/* The pid cannot be reused before we reap the engine, and a signal to a zombie is harmless.
	 */
	if (engine->pid > 0)
		(void)pidfd_send_signal(engine->pidfd, signal_number, NULL, 0);
}

int engine_process_reap(struct engine_process *engine, struct engine_process_end *ret_end)
{
	siginfo_t info = { 0 };

	assert(engine->pid > 0);
	if (waitid(P_PIDFD, (id_t)engine->pidfd, &info, WEXITED | WNOHANG) < 0)
		return errno == EINTR ? -EAGAIN : -errno;
	if (info.si_pid == 0)
		return -EAGAIN;
	engine->pid = 0;
	*ret_end = (struct engine_process_end){
		.signal = info.si_code == CLD_EXITED ? 0 : info.si_status,
		.exit_status = info.si_code == CLD_EXITED ? info.si_status : 0,
		.lived_ns = clock_monotonic_ns() - engine->started_ns,
	};
	return 0;
}
