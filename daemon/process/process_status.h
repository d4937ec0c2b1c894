/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What /proc/PID/status says of a process's life. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct process_status {
	uint32_t threads; /* live ones, and a first thread that has ended but not been waited for */
	bool is_zombie;	  /* the first thread has ended */
};

/*
 * Reads `fd` (borrowed) from its position. Of a list of groups without end 1 MiB is read at most.
 * Returns 0; -EINVAL where either line is missing or makes no sense; -ENOMEM; -E2BIG; or what
 * reading returned, -ESRCH for a process that has gone.
 */
int process_status_read(int fd, struct process_status *ret_status);
