/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * This program started anew in another role: in a session of its own, where a terminal's signals do
 * not reach it, with the signals' mask and dispositions as a program expects them, the standard
 * output and error of this process, and the descriptors it is given and no others. Nothing is kept:
 * the caller has the process's id, and waits for it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { ROLE_DESCRIPTOR_NUMBER_MAX = 15 };

/* The process finds a copy of `fd` at `number`, 3 to ROLE_DESCRIPTOR_NUMBER_MAX. */
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
	/* Else it is this user with this group, and has no privilege from its first instruction on
	 * (sandbox_drop_privileges_to()). */
	bool keeps_privileges;
	uid_t user;
	gid_t group;
};

/*
 * Waits for exec, and so returns what that, or dropping the privileges, failed with. Of a process
 * with one thread. Returns 0 or -errno.
 */
int role_process_start(const struct role_process_options *options, pid_t *ret_pid);
