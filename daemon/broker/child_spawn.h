/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Starts a child, of the broker or of whoever needs none: with a socket at number 3, /dev/null at
 * the standard descriptors and nothing else open, in a session of its own, no signal blocked or
 * ignored. It has the privileges of this process, which it gives up before it does anything else.
 */
#pragma once

#include <sys/types.h>

struct child_spawn {
	const char *program; /* NULL: /proc/self/exe */
	char *const *arguments;
	char *const *environment;
	int socket_fd; /* borrowed */
};

/* Waits for exec. Returns 0 with an O_CLOEXEC pidfd, and a process that the caller must wait for,
 * by its id: nobody else may; or -errno. */
int child_spawn(const struct child_spawn *child, pid_t *ret_pid, int *ret_pidfd);
