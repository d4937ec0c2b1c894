/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads /proc/PID/cgroup: a path in each hierarchy of cgroup v1 and v2. Layout: cgroups(7). */
#pragma once

#include <limits.h>
#include <stdbool.h>

struct process_cgroups {
	/* "" where there is no such line; without the " (deleted)" of one that is gone. */
	char unified[PATH_MAX]; /* cgroup2's */
	char systemd[PATH_MAX]; /* v1's name=systemd */
	char other[PATH_MAX];	/* the first of v1 that is not at its root */
	bool has_v1;
	bool has_perf_event_v1; /* that controller is on a hierarchy of v1 */
};

/*
 * Reads `fd` (borrowed) from its position, 256 KiB at most; unknown lines are skipped. Returns 0,
 * -ENOMEM, -E2BIG, or what reading returned, -ESRCH for a process that has gone.
 */
int process_cgroups_read(int fd, struct process_cgroups *ret_cgroups);

/* The path that identifies the process best; "" if none was read. */
const char *process_cgroups_path(const struct process_cgroups *cgroups);
