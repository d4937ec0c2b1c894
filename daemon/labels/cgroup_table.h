/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Maps the ids of cgroups to their paths (that of bpf_get_current_cgroup_id(): the inode in
 * cgroup2). A scan of the file system gives existing cgroups. The side-band's PERF_RECORD_CGROUP
 * gives new ones (Linux 5.7), so that removed cgroups keep their names. Bounded (I4): the least
 * recently used are evicted. One owner, one thread.
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
	size_t cgroups;	   /* 16384; a quarter is for processes that were asked */
	size_t path_bytes; /* 4 MiB, likewise; as much again for the length of a scan */
};
extern const struct cgroup_table_limits cgroup_table_default_limits;

struct cgroup_table_counters {
	uint64_t evicted, refused;
	uint64_t unknown; /* ids that nobody could tell of */
};

/*
 * `mount` is where cgroup2 is: "/sys/fs/cgroup", "/sys/fs/cgroup/unified"; NULL: found out. It is
 * copied, and so is `limits`; `broker` and `processes` are borrowed. Returns 0 or -ENOMEM.
 */
int cgroup_table_new(const struct cgroup_table_limits *limits, struct broker *broker,
	const struct process_table *processes, const char *mount, struct cgroup_table **ret_table);
void cgroup_table_free(struct cgroup_table *table);
DEFINE_CLEANUP(struct cgroup_table, cgroup_table_free);

/*
 * Reads which cgroups there are, in steps, a folder each: first begins, with the root, then runs
 * until `until_ns`, one step at least. Folders that vanish meanwhile are passed over, and those for
 * which there is no room are counted as refused. Return 0; 1 where there is more to do; -ENOENT
 * where there is no cgroup2, or -errno: then and after 0 it is done with, and nothing is left to
 * run. One that is under way begins anew.
 */
int cgroup_table_scan_begin(struct cgroup_table *table);
int cgroup_table_scan_run(struct cgroup_table *table, uint64_t until_ns);
bool cgroup_table_is_scanning(const struct cgroup_table *table);

/*
 * A cgroup has been made (or is told of again), as the side-band has it. Ignored where the
 * perf_event controller is on a hierarchy of v1: the side-band then tells of that one, whose ids
 * are others. Returns 0, -EINVAL for a path that does not begin with '/', -ENOMEM, -E2BIG
 * (counted).
 */
int cgroup_table_add(struct cgroup_table *table, uint64_t id, const char *path);

/*
 * The path of a sample's cgroup, borrowed until the table changes; "" if unknown. Where id is the
 * root's or 0, as on hosts with cgroup v1, /proc/PID/cgroup tells (its name=systemd hierarchy, else
 * cgroup2's, else the first that is not at its root), asked once for each process. So it does of an
 * id that is not known, if the process is there still. Of a child that is known to be gone the
 * nearest of its ancestors tells who is not; init does not, which puts its children elsewhere.
 * `process` may be NULL, and is who had its pid at `time_ns`.
 */
const char *cgroup_table_find(struct cgroup_table *table, uint64_t id,
	const struct broker_process *process, uint64_t time_ns);

/*
 * A window begins, in which asking processes may take `ask_ns` in all: those that there is no time
 * for are asked in the next one. Until this is first called, there is time without end.
 */
void cgroup_table_begin_window(struct cgroup_table *table, uint64_t ask_ns);

void cgroup_table_counters(
	const struct cgroup_table *table, struct cgroup_table_counters *ret_counters);
size_t cgroup_table_bytes(const struct cgroup_table *table);
