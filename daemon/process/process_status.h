/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parses /proc/PID/status: the life of a process, its user and its pids. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct process_status {
	uint32_t threads;	  /* live ones, plus a first thread that ended but was not reaped */
	bool is_zombie;		  /* the first thread has ended */
	bool has_uid, has_ns_pid; /* whether those lines exist */
	uid_t uid;		  /* effective, in the reader's user namespace */
	uint32_t ns_pid;	  /* pid in its innermost pid namespace; 0 while it exits */
	uint32_t parent;	  /* 0: not visible to the reader, or no such line */
};

/*
 * Reads `fd` (borrowed) from its position. An endless list of groups is cut at 1 MiB. Returns 0;
 * -EINVAL for an invalid line or if the state or the threads are missing; -ENOMEM; -E2BIG; or the
 * error of the read, which is -ESRCH for a process that has ended.
 */
int process_status_read(int fd, struct process_status *ret_status);
