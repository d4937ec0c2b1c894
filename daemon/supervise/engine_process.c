/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "supervise/engine_process.h"

#include "base/clock.h"
#include "supervise/role_process.h"
#include "supervise/supervisor.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/wait.h>

_Static_assert(ENGINE_LISTEN_FD + ENGINE_LISTEN_MAX - 1 <= ROLE_DESCRIPTOR_NUMBER_MAX, "numbers");

enum { SOCKETS = 3 };

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

static int spawn(struct engine_process *engine, const struct engine_process_options *options,
	const int other_fds[SOCKETS])
{
	struct role_descriptor descriptors[SOCKETS + ENGINE_LISTEN_MAX] = {
		{ other_fds[0], ENGINE_BROKER_FD },
		{ other_fds[1], ENGINE_CAPTURE_FD },
		{ other_fds[2], ENGINE_NOTICE_FD },
	};
	struct role_process_options role = {
		.program = options->program,
		.arguments = options->arguments,
		.environment = options->environment,
		.descriptors = descriptors,
		.descriptor_count = SOCKETS,
		.user = options->user,
		.group = options->group,
	};

	assert(options->listen_count <= ENGINE_LISTEN_MAX);
	for (size_t i = 0; i < options->listen_count; i++)
		descriptors[role.descriptor_count++] =
			(struct role_descriptor){ options->listen_fds[i],
				ENGINE_LISTEN_FD + (int)i };
	return role_process_start(&role, &engine->pid);
}

int engine_process_start(
	const struct engine_process_options *options, struct engine_process **ret_engine)
{
	_cleanup_(engine_process_freep) struct engine_process *engine = calloc(1, sizeof(*engine));
	_cleanup_close_ int broker_fd = -1, capture_fd = -1, notice_fd = -1;
	int r;

	if (!engine)
		return -ENOMEM;
	engine->pidfd = engine->broker_fd = engine->capture_fd = engine->notice_fd = -1;
	r = make_pair(&engine->broker_fd, &broker_fd);
	if (r == 0)
		r = make_pair(&engine->capture_fd, &capture_fd);
	if (r == 0)
		r = make_pair(&engine->notice_fd, &notice_fd);
	if (r == 0)
		r = spawn(engine, options, (const int[]){ broker_fd, capture_fd, notice_fd });
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
