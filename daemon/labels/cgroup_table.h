/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Maps cgroup ids to paths. The ids are those of bpf_get_current_cgroup_id(): inodes in cgroup2. A
 * scan of the file system finds existing cgroups. The side-band's PERF_RECORD_CGROUP (Linux 5.7)
 * reports new ones, so that removed cgroups keep their names. Bounded (I4): the least recently used
 * are evicted. One owner, one thread.
 */
#pragma once

#include "base/cleanup.h"
#include "broker/broker.h"
#include "process/process_table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cgroup_table;

struct cgroup_table_limits {
	size_t cgroups;	   /* 16384; a quarter is for answers of processes */
	size_t path_bytes; /* 4 MiB, a quarter as above; a scan may add as much */
};
extern const struct cgroup_table_limits cgroup_table_default_limits;

struct cgroup_table_counters {
	uint64_t evicted, refused;
	uint64_t unknown; /* ids for which no source had a path */
};

/*
 * `mount` is the mount point of cgroup2, "/sys/fs/cgroup" or "/sys/fs/cgroup/unified"; NULL:
 * detected. `mount` and `limits` are copied; `broker` and `processes` are borrowed. Returns 0 or
 * -ENOMEM.
 */
int cgroup_table_new(const struct cgroup_table_limits *limits, struct broker *broker,
	const struct process_table *processes, const char *mount, struct cgroup_table **ret_table);
void cgroup_table_free(struct cgroup_table *table);
DEFINE_CLEANUP(struct cgroup_table, cgroup_table_free);

/*
 * Scan the existing cgroups in steps of one folder each. scan_begin starts with the root and
 * restarts a running scan. scan_run continues until `until_ns`, with at least one step. Folders
 * that vanish meanwhile are skipped. Folders without room are counted as refused.
 *
 * Both return 1 if work is left, and 0 when the scan is complete. They return -ENOENT without
 * cgroup2, or another -errno; an error ends the scan.
 */
int cgroup_table_scan_begin(struct cgroup_table *table);
int cgroup_table_scan_run(struct cgroup_table *table, uint64_t until_ns);
bool cgroup_table_is_scanning(const struct cgroup_table *table);

/*
 * Adds a cgroup that the side-band reported, perhaps again. Ignored if cgroup v1 has the perf_event
 * controller: the side-band then reports v1's hierarchy, which has other ids. Returns 0, -EINVAL
 * for a path that does not begin with '/', -ENOMEM, or -E2BIG (counted).
 */
int cgroup_table_add(struct cgroup_table *table, uint64_t id, const char *path);

/*
 * Finds the path of a sample's cgroup, borrowed until the table changes; "" if unknown.
 *
 * If `id` is 0 or the root's, as on hosts with cgroup v1, /proc/PID/cgroup answers, read once for
 * each process. Its name=systemd hierarchy comes first, then cgroup2's, then the first that is not
 * at its root. The same file answers for an unknown id while the process is alive. For a dead
 * child, its nearest live ancestor answers, but never init, which puts its children into other
 * cgroups.
 *
 * `process` may be NULL; it is the process that had its pid at `time_ns`.
 */
const char *cgroup_table_find(struct cgroup_table *table, uint64_t id,
	const struct broker_process *process, uint64_t time_ns);

/*
 * Begins a window and sets its budget: reading from processes may take `ask_ns` in all. Processes
 * beyond it wait for the next window. Before the first call, the budget is unlimited.
 */
void cgroup_table_begin_window(struct cgroup_table *table, uint64_t ask_ns);

void cgroup_table_counters(
	const struct cgroup_table *table, struct cgroup_table_counters *ret_counters);
size_t cgroup_table_bytes(const struct cgroup_table *table);
