/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The executable mappings of processes that ran before the side-band did, out of /proc. */
#pragma once

#include "broker/broker.h"
#include "process/process_table.h"

/*
 * Adds one process. Files without a build-id in the table get none here: that takes reading them.
 * Of its text 16 MiB are read at most (-E2BIG); lines that are not understood are passed over.
 * Returns 0, -ESRCH when it has ended meanwhile or has no memory of its own (a thread of the
 * kernel), or what the broker, reading or the table returned. On -E2BIG, what there was room for is
 * added.
 */
int process_scan_one(
	struct broker *broker, struct process_table *table, pid_t pid, uint64_t time_ns);

/*
 * Adds every process of `proc_root` ("/proc"); one that vanishes, refuses or is too big is passed
 * over. Returns 0, or -errno for a failure that is not a process's own.
 */
int process_scan_all(struct broker *broker, struct process_table *table, const char *proc_root,
	uint64_t time_ns);
