/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "supervise/group_lookup.h"

#include "base/cleanup.h"
#include "sandbox/sandbox.h"

#include <errno.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/wait.h>

/* How long to wait for a killed child. One that no file system blocks ends sooner. */
enum { END_WAIT_MS = 500 };

static _Noreturn void be_child(const char *name, int fd)
{
	const struct group *group;

	if (sandbox_drop_privileges(SANDBOX_ROOT_STAYS) < 0 || sandbox_die_with_parent(fd) < 0)
		_exit(1);
	group = getgrnam(name);
	if (group)
		(void)send(fd, &group->gr_gid, sizeof(group->gr_gid), MSG_NOSIGNAL);
	_exit(0);
}

static int receive(int fd, int timeout_ms, gid_t *ret_group)
{
	struct pollfd waited = { .fd = fd, .events = POLLIN };
	int n = poll(&waited, 1, timeout_ms);
	ssize_t size;
	gid_t group;

	if (n <= 0)
		return n < 0 ? -errno : -ETIMEDOUT;
	size = recv(fd, &group, sizeof(group), MSG_DONTWAIT);
	if (size < 0)
		return -errno;
	if (size != sizeof(group))
		return -ENOENT;
	*ret_group = group;
	return 0;
}

/* A child that waits for a file system may ignore SIGKILL, so this leaves it behind. */
static void end_child(pid_t child)
{
	_cleanup_close_ int pidfd = pidfd_open(child, 0);
	struct pollfd end = { .fd = pidfd, .events = POLLIN };

	(void)kill(child, SIGKILL);
	(void)poll(&end, 1, END_WAIT_MS);
	(void)waitpid(child, NULL, WNOHANG);
}

int group_lookup(const char *name, int timeout_ms, gid_t *ret_group)
{
	int pair[2], r;
	pid_t child;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	child = fork();
	if (child == 0) {
		(void)close(pair[0]);
		be_child(name, pair[1]);
	}
	r = child < 0 ? -errno : 0;
	(void)close(pair[1]);
	if (r == 0) {
		r = receive(pair[0], timeout_ms, ret_group);
		end_child(child);
	}
	(void)close(pair[0]);
	return r;
}
