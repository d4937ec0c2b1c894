/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's own record of mappings and processes: one perf ring for each CPU reports every
 * execve(), fork, exit, comm and executable mmap() of every process, each with its file, and every
 * new cgroup, as it happens. It costs nothing per sample. Thanks to it, a process or cgroup that is
 * gone before the drain keeps its name and its files. Reading needs no privilege but the rings'
 * descriptors. There is one reader. One owner, one thread.
 */
#pragma once

#include "base/build_id.h"
#include "base/cleanup.h"
#include "capture/sideband_record.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sideband;

struct sideband_counters {
	uint64_t records;
	uint64_t lost; /* a ring was full: mappings may be missing */
	uint64_t malformed;
	uint64_t refused; /* over the bound on pending records */
};

struct sideband_ring;

/* Returns 0 or -errno. `ring_bytes` is for each CPU, a power of two of pages. */
int sideband_open(size_t ring_bytes, struct sideband **ret_sideband);
void sideband_free(struct sideband *sideband);
DEFINE_CLEANUP(struct sideband, sideband_free);

/*
 * Reads a ring that another process may have opened (sideband_rings.h). Takes ownership of the
 * ring's descriptor on success, and closes it if the ring is known already. Returns 0 or -errno.
 */
int sideband_adopt_ring(struct sideband *sideband, const struct sideband_ring *ring);
/*
 * Closes the rings that were not adopted since the last call, after reading what is left in them.
 * Returns 0, or -ENOMEM, but closes them either way.
 */
int sideband_drop_others(struct sideband *sideband);
/* Do these rings report new cgroups (Linux 5.7)? The default is true. */
void sideband_set_reports_cgroups(struct sideband *sideband, bool reports_cgroups);

/*
 * Alternatively opens and follows rings of its own, for a process that has the privilege and needs
 * nothing else of capture. Returns 0 or -errno.
 */
int sideband_set_cpus(struct sideband *sideband, const uint32_t *cpus, size_t count);

/* Does the kernel report new cgroups? Known once there are rings. */
bool sideband_reports_cgroups(const struct sideband *sideband);

/*
 * An epoll descriptor that is readable when a record has come; borrowed. On a busy machine it
 * always is, so a periodic reader should not poll it between its reads.
 */
int sideband_poll_fd(const struct sideband *sideband);

typedef void (*sideband_function)(void *context, const struct sideband_record *record);

/*
 * Empties the rings and calls `function` for each record older than `until_ns`, of all CPUs in
 * order of time. Later records wait for the next call. Returns 0 or -ENOMEM.
 */
int sideband_read(
	struct sideband *sideband, uint64_t until_ns, sideband_function function, void *context);

void sideband_counters(const struct sideband *sideband, struct sideband_counters *ret_counters);
size_t sideband_bytes(const struct sideband *sideband);
