/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/killable_read.h"

#include "base/cleanup.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* A child that does not end within this time after SIGKILL is left to the parent of this process.
 */
enum { KILL_WAIT_MS = 100 };

/* The exit status is the error number. */
_Noreturn static void read_and_exit(int fd, pid_t parent)
{
	char byte;

	/* The child has inherited the sampler's descriptors, and must not keep it alive alone. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
		_exit(ESRCH);
	_exit(read(fd, &byte, sizeof(byte)) < 0 ? errno : 0);
}

/* Returns whether the process has ended. */
static bool wait_for_end(int pidfd, int timeout_ms)
{
	struct pollfd ended = { .fd = pidfd, .events = POLLIN };
	int r;

	do
		r = poll(&ended, 1, timeout_ms);
	while (r < 0 && errno == EINTR);
	return r > 0;
}

int killable_read(int fd, int timeout_ms)
{
	pid_t parent = getpid(), child = fork();
	_cleanup_close_ int pidfd = -1;
	siginfo_t info = { 0 };
	int r = 0;

	if (child < 0)
		return -errno;
	if (child == 0)
		read_and_exit(fd, parent);
	pidfd = pidfd_open(child, 0);
	if (pidfd < 0)
		r = -errno;
	else if (!wait_for_end(pidfd, timeout_ms))
		r = -ETIMEDOUT;
	if (r < 0)
		(void)kill(child, SIGKILL);
	if (r == -ETIMEDOUT)
		(void)wait_for_end(pidfd, KILL_WAIT_MS);
	/* Without a pidfd, the child has hardly begun: it ends at once. */
	if (waitid(P_PID, (id_t)child, &info, WEXITED | (pidfd < 0 ? 0 : WNOHANG)) < 0)
		return -errno;
	if (r < 0)
		return r;
	return info.si_code == CLD_EXITED ? -info.si_status : -EINTR;
}
