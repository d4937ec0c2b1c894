/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads from /proc what the side-band did not report: executable mappings and threads of processes
 * that started earlier, and, after lost records, which processes have ended.
 */
#pragma once

#include "broker/broker.h"
#include "process/process_table.h"

#include <dirent.h>

/*
 * Adds one process: its thread count, its executable and its executable mappings. Files get no
 * build-id here, since that requires reading them. At most 16 MiB of its maps are read (-E2BIG);
 * invalid lines are skipped. Returns 0; -ESRCH if the process has ended or is a kernel thread; or
 * the error of the broker, the read or the table. On -E2BIG, everything that fitted is added.
 */
int process_scan_one(
	struct broker *broker, struct process_table *table, pid_t pid, uint64_t time_ns);

/*
 * Adds a mapping whose record was lost: its range, its offset, and its file, which is open as `fd`.
 * mapping->file is not used. Returns 0; the table's errors; another -errno if the file does not
 * tell its path.
 */
int process_scan_mapping(struct process_table *table, pid_t pid, uint64_t time_ns,
	const struct process_mapping *mapping, int fd);

/*
 * Ends the image of a process that is gone or is a zombie; otherwise counts its threads anew. Call
 * it when the first thread ends and the image does not. Returns 0, or -errno if /proc gives no
 * answer; then nothing changes.
 */
int process_scan_check(struct broker *broker, struct process_table *table, pid_t pid);

/*
 * A scan of all processes, at the start and after lost records. It checks whether each process of
 * the table still exists, then adds every process of `proc_root` and skips unreadable ones. It runs
 * in steps, because each process costs up to three requests and draining must not wait (I5). Zeros:
 * no scan is under way.
 */
struct process_rescan {
	DIR *folder; /* NULL: no scan is under way */
	size_t cursor;
	bool has_checked;
};
/* Starts a scan, or restarts the current one. Returns 0 or -errno. */
int process_rescan_begin(struct process_rescan *rescan, const char *proc_root);
/*
 * Runs steps until `until_ns`, at least one. Returns 1 if work is left; 0 if the scan is complete
 * or none is under way; -ENOMEM; -EPIPE if the broker is gone; or the error of reading `proc_root`.
 * An error ends the scan.
 */
int process_rescan_run(struct process_rescan *rescan, struct broker *broker,
	struct process_table *table, uint64_t time_ns, uint64_t until_ns);
void process_rescan_done(struct process_rescan *rescan);
