/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads /proc/PID/cgroup: a path in each hierarchy of cgroup v1 and v2. Layout: cgroups(7). */
#pragma once

#include <limits.h>
#include <stdbool.h>

struct process_cgroups {
	/* "" if there is no such line. " (deleted)" of a removed cgroup is cut off. */
	char unified[PATH_MAX]; /* of cgroup2 */
	char systemd[PATH_MAX]; /* of v1's name=systemd hierarchy */
	char other[PATH_MAX];	/* of v1's first hierarchy that is not at its root */
	bool has_v1;
	bool has_perf_event_v1; /* cgroup v1 has the perf_event controller */
};

/*
 * Reads `fd` (borrowed) from its position, 256 KiB at most; unknown lines are skipped. Returns 0,
 * -ENOMEM, -E2BIG, or the error of the read, which is -ESRCH for a process that has ended.
 */
int process_cgroups_read(int fd, struct process_cgroups *ret_cgroups);

/* Returns the path that identifies the process best; "" if none was read. */
const char *process_cgroups_path(const struct process_cgroups *cgroups);
