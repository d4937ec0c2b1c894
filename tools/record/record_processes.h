/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The processes of -p, held by pidfds: a reused PID is not taken for the process that had it, and
 * the end of each is known. At most RECORD_PIDS_MAX. One thread.
 */
#pragma once

#include "base/cleanup.h"
#include "base/fault.h"

#include <stddef.h>
#include <sys/types.h>

struct record_processes;

/* Returns 0, -ESRCH if one is no process or has ended, or another -errno; with `fault`. */
int record_processes_open(const pid_t *pids, size_t count, struct record_processes **ret_processes,
	struct fault *fault);
void record_processes_free(struct record_processes *processes);
DEFINE_CLEANUP(struct record_processes, record_processes_free);

/*
 * Do all of them still live? If so, whatever was done by PID until now was done to them. Returns 0
 * or -ESRCH with `fault`.
 */
int record_processes_check(const struct record_processes *processes, struct fault *fault);

/* Readable when one has ended since the last record_processes_count(); borrowed. */
int record_processes_poll_fd(const struct record_processes *processes);

/* How many still live. */
size_t record_processes_count(struct record_processes *processes);
