/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "broker/child_spawn.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/pidfd.h>
#include <sys/wait.h>

static void files_destroy(posix_spawn_file_actions_t *files)
{
	(void)posix_spawn_file_actions_destroy(files);
}
DEFINE_CLEANUP(posix_spawn_file_actions_t, files_destroy);

static void attributes_destroy(posix_spawnattr_t *attributes)
{
	(void)posix_spawnattr_destroy(attributes);
}
DEFINE_CLEANUP(posix_spawnattr_t, attributes_destroy);

/* The socket comes first: it may itself be open at a standard number. */
static int plan_files(posix_spawn_file_actions_t *files, const struct child_spawn *child)
{
	int last = CHILD_SPAWN_SOCKET_NUMBER;
	int r = posix_spawn_file_actions_adddup2(files, child->socket_fd, last);

	if (r == 0 && child->file_fd > 0) {
		last = CHILD_SPAWN_FILE_NUMBER;
		r = posix_spawn_file_actions_adddup2(files, child->file_fd, last);
	}
	for (int number = STDIN_FILENO; number <= STDERR_FILENO && r == 0; number++)
		r = posix_spawn_file_actions_addopen(files, number, "/dev/null", O_RDWR, 0);
	if (r == 0)
		r = posix_spawn_file_actions_addclosefrom_np(files, last + 1);
	return -r;
}

static int plan_attributes(posix_spawnattr_t *attributes)
{
	sigset_t none, all;
	int r;

	(void)sigemptyset(&none);
	(void)sigfillset(&all);
	r = posix_spawnattr_setflags(
		attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	if (r == 0)
		r = posix_spawnattr_setsigmask(attributes, &none);
	if (r == 0)
		r = posix_spawnattr_setsigdefault(attributes, &all);
	return -r;
}

static int spawn(const struct child_spawn *child, pid_t *ret_pid)
{
	_cleanup_(files_destroyp) posix_spawn_file_actions_t *files = NULL;
	_cleanup_(attributes_destroyp) posix_spawnattr_t *attributes = NULL;
	posix_spawn_file_actions_t planned_files;
	posix_spawnattr_t planned_attributes;
	int r = -posix_spawn_file_actions_init(&planned_files);

	if (r < 0)
		return r;
	files = &planned_files;
	r = -posix_spawnattr_init(&planned_attributes);
	if (r < 0)
		return r;
	attributes = &planned_attributes;
	r = plan_files(files, child);
	if (r == 0)
		r = plan_attributes(attributes);
	if (r == 0)
		r = -posix_spawn(ret_pid, child->program ? child->program : "/proc/self/exe", files,
			attributes, child->arguments, child->environment);
	return r;
}

int child_spawn(const struct child_spawn *child, pid_t *ret_pid, int *ret_pidfd)
{
	pid_t pid;
	int pidfd;
	int r = spawn(child, &pid);

	if (r < 0)
		return r;
	pidfd = pidfd_open(pid, 0);
	if (pidfd < 0) {
		r = -errno;
		(void)kill(pid, SIGKILL);
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
		return r;
	}
	*ret_pid = pid;
	*ret_pidfd = pidfd;
	return 0;
}
