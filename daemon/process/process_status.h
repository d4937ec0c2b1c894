/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What /proc/PID/status says of a process's life and of whom it is. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct process_status {
	uint32_t threads; /* live ones, and a first thread that has ended but not been waited for */
	bool is_zombie;	  /* the first thread has ended */
	bool has_uid, has_ns_pid; /* those lines are there */
	uid_t uid;		  /* effective, of the reader's user namespace */
	uint32_t ns_pid;	  /* of the process in its innermost pid namespace; 0 as it goes */
	uint32_t parent;	  /* 0: none that the reader sees, or the line is not there */
};

/*
 * Reads `fd` (borrowed) from its position. Of a list of groups without end 1 MiB is read at most.
 * Returns 0; -EINVAL where a line makes no sense or that of the state or of the threads is missing;
 * -ENOMEM; -E2BIG; or what reading returned, -ESRCH for a process that has gone.
 */
int process_status_read(int fd, struct process_status *ret_status);
