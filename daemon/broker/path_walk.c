/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "broker/path_walk.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * A concurrent rename anywhere on the machine makes a walk with ".." fail with EAGAIN: openat2(2).
 */
enum { WALK_ATTEMPTS = 16 };

int path_walk(int folder_fd, const char *path, uint64_t flags, uint64_t resolve)
{
	struct open_how how = { .flags = flags | O_PATH | O_CLOEXEC, .resolve = resolve };
	long fd;

	for (int i = 0; i < WALK_ATTEMPTS; i++) {
		fd = syscall(SYS_openat2, folder_fd, path, &how, sizeof(how));
		if (fd >= 0)
			return (int)fd;
		if (errno != EAGAIN && errno != EINTR)
			break;
	}
	return -errno;
}
