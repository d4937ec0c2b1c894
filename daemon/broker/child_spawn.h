/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Starts a child process for the broker or for a process that works without one. The child has a
 * socket at number 3, maybe a file at number 4, /dev/null at the standard descriptors and nothing
 * else open. It runs in a
 * session of its own, with no signal blocked or ignored. It starts with the privileges of this
 * process and must give them up first.
 */
#pragma once

#include <sys/types.h>

enum { CHILD_SPAWN_SOCKET_NUMBER = 3, CHILD_SPAWN_FILE_NUMBER };

struct child_spawn {
	const char *program; /* NULL: /proc/self/exe */
	char *const *arguments;
	char *const *environment;
	int socket_fd; /* borrowed, as the next one */
	int file_fd;   /* beyond CHILD_SPAWN_FILE_NUMBER; 0: none */
};

/*
 * Waits for exec. Returns 0 with an O_CLOEXEC pidfd and a pid that only the caller may wait for; or
 * -errno.
 */
int child_spawn(const struct child_spawn *child, pid_t *ret_pid, int *ret_pidfd);
