/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Starts this program again in another role. The new process has its own session, so a terminal's
 * signals do not reach it. Its signal mask and dispositions are the defaults. It shares our
 * standard output and error, and inherits only the given descriptors. The module keeps no state:
 * the caller gets the process's id and must wait for it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { ROLE_DESCRIPTOR_NUMBER_MAX = 15 };

/* The process inherits a copy of `fd` as `number`, 3 to ROLE_DESCRIPTOR_NUMBER_MAX. */
struct role_descriptor {
	int fd; /* borrowed */
	int number;
};

struct role_process_options {
	const char *program; /* NULL: /proc/self/exe */
	char *const *arguments;
	char *const *environment;
	const struct role_descriptor *descriptors;
	size_t descriptor_count;
	/* False: the process runs as `user` and `group`, without privileges from its first
	 * instruction on (sandbox_drop_privileges_to()). */
	bool keeps_privileges;
	uid_t user;
	gid_t group;
};

/*
 * Waits until the process has called exec(). Returns 0, or -errno if the fork, a step before exec()
 * or exec() itself failed. The caller must have one thread.
 */
int role_process_start(const struct role_process_options *options, pid_t *ret_pid);
