/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What /proc knows and the side-band has not told: the executable mappings and the threads of
 * processes that ran before it did, and who is gone where it lost records.
 */
#pragma once

#include "broker/broker.h"
#include "process/process_table.h"

#include <dirent.h>

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
 * Adds every process of `proc_root` ("/proc"); one that cannot be read is passed over. Returns 0,
 * -ENOMEM, -EPIPE where the broker is gone, or what reading `proc_root` failed with.
 */
int process_scan_all(struct broker *broker, struct process_table *table, const char *proc_root,
	uint64_t time_ns);

/*
 * Is the process still there? If not, or if it only waits for its parent to take note, its image
 * ends; otherwise its threads are counted anew. To be asked where the first thread ends and the
 * image does not. Returns 0; or -errno where /proc does not say, and nothing is changed.
 */
int process_scan_check(struct broker *broker, struct process_table *table, pid_t pid);

/*
 * What there is to be read after records have been lost, in steps, since it takes a request or
 * three for each process and draining is not to wait for it (I5): of every process of the table
 * whether it is still there, then every process of `proc_root`. Zeros: none is under way.
 */
struct process_rescan {
	DIR *folder; /* NULL: none is under way */
	size_t cursor;
	bool has_checked;
};
/* Returns 0 or -errno. One that is under way begins anew. */
int process_rescan_begin(struct process_rescan *rescan, const char *proc_root);
/* Steps until `until_ns`, one at least. Returns 1 where there is more to do, 0, or -errno as
 * process_scan_all(); after both it is done with. 0, too, where none is under way. */
int process_rescan_run(struct process_rescan *rescan, struct broker *broker,
	struct process_table *table, uint64_t time_ns, uint64_t until_ns);
void process_rescan_done(struct process_rescan *rescan);
