/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's own account of who maps what: one perf ring a CPU with the records of execve(),
 * fork, exit, comm and executable mmap() of every process, each with its file, and of each cgroup
 * that is made, at the moment it happens. It costs nothing per sample, and it is how a process or a
 * cgroup that is gone before the drain keeps its name and its files. One owner, one thread.
 */
#pragma once

#include "base/build_id.h"
#include "capture/sideband_record.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sideband;

struct sideband_counters {
	uint64_t records;
	uint64_t lost; /* the kernel found a ring full: mappings may be missing */
	uint64_t malformed;
	uint64_t refused; /* over the bound on records that wait for their turn */
};

/* Returns 0 or -errno. `ring_bytes` a CPU, a power of two of pages. */
int sideband_open(size_t ring_bytes, struct sideband **ret_sideband);
void sideband_free(struct sideband *sideband);

/* Follows CPUs that have come or gone. */
int sideband_set_cpus(struct sideband *sideband, const uint32_t *cpus, size_t count);

/* Does the kernel tell of new cgroups (Linux 5.7)? Known once there are CPUs. */
bool sideband_tells_cgroups(const struct sideband *sideband);

/* An epoll descriptor that is readable when a ring has filled by a quarter; borrowed. */
int sideband_poll_fd(const struct sideband *sideband);

typedef void (*sideband_function)(void *context, const struct sideband_record *record);

/*
 * Takes all that the rings hold and calls `function` for each record older than `until_ns`, over
 * all CPUs in the order of time; later ones wait for the next call. Returns 0 or -ENOMEM.
 */
int sideband_read(
	struct sideband *sideband, uint64_t until_ns, sideband_function function, void *context);

void sideband_counters(const struct sideband *sideband, struct sideband_counters *ret_counters);
size_t sideband_bytes(const struct sideband *sideband);
