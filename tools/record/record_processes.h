/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The processes that -p names, held by pidfds, so that a PID that is used again is not taken for
 * the process that had it, and their end is known. At most RECORD_PIDS_MAX. One thread.
 */
#pragma once

#include "base/cleanup.h"
#include "base/fault.h"

#include <stddef.h>
#include <sys/types.h>

struct record_processes;

/* Returns 0, -ESRCH where one is no process or has ended, or -errno; each with `fault`. */
int record_processes_open(const pid_t *pids, size_t count, struct record_processes **ret_processes,
	struct fault *fault);
void record_processes_free(struct record_processes *processes);
DEFINE_CLEANUP(struct record_processes, record_processes_free);

/*
 * Are all of them still there? Whatever was done by PID until now was then done to them. Returns 0
 * or -ESRCH.
 */
int record_processes_check(const struct record_processes *processes, struct fault *fault);

/* Readable when one has ended that record_processes_count() does not know of; borrowed. */
int record_processes_poll_fd(const struct record_processes *processes);

/* How many there are still. */
size_t record_processes_count(struct record_processes *processes);
