/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What /proc knows and the side-band has not told: the executable mappings and the threads of
 * processes that ran before it did, and who is gone where it lost records.
 */
#pragma once

#include "broker/broker.h"
#include "process/process_table.h"

/*
 * Adds one process, with as many threads as it has now, and what it executes. Files without a
 * build-id in the table get none here: that takes reading them. Of its text 16 MiB are read at most
 * (-E2BIG); lines that are not understood are passed over. Returns 0, -ESRCH when it has ended
 * meanwhile or has no memory of its own (a thread of the kernel), or what the broker, reading or
 * the table returned. On -E2BIG, what there was room for is added.
 */
int process_scan_one(
	struct broker *broker, struct process_table *table, pid_t pid, uint64_t time_ns);

/*
 * Adds every process of `proc_root` ("/proc"); one that vanishes, refuses or is too big is passed
 * over. Returns 0, or -errno for a failure that is not a process's own.
 */
int process_scan_all(struct broker *broker, struct process_table *table, const char *proc_root,
	uint64_t time_ns);

/*
 * Is the process still there? If not, or if it only waits for its parent to take note, its image
 * ends; otherwise its threads are counted anew. To be asked where the first thread ends and the
 * image does not. Returns 0; or -errno where /proc does not say, and nothing is changed.
 */
int process_scan_check(struct broker *broker, struct process_table *table, pid_t pid);

/* Asks it of every process of the table: after records have been lost. */
void process_scan_check_all(struct broker *broker, struct process_table *table);
