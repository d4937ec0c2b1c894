/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's own account of who maps what: one perf ring a CPU with the records of execve(),
 * fork, exit, comm and executable mmap() of every process, each with its file, and of each cgroup
 * that is made, at the moment it happens. It costs nothing per sample, and it is how a process or a
 * cgroup that is gone before the drain keeps its name and its files. Reading takes no privilege but
 * the rings' descriptors; there is one reader. One owner, one thread.
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
	uint64_t lost; /* the kernel found a ring full: mappings may be missing */
	uint64_t malformed;
	uint64_t refused; /* over the bound on records that wait for their turn */
};

struct sideband_ring;

/* Returns 0 or -errno. `ring_bytes` a CPU, a power of two of pages. */
int sideband_open(size_t ring_bytes, struct sideband **ret_sideband);
void sideband_free(struct sideband *sideband);
DEFINE_CLEANUP(struct sideband, sideband_free);

/*
 * Reads from now on what somebody has opened (sideband_rings.h), who may be another process. Takes
 * the ring's descriptor if it returns 0, and closes it where the ring is one that it has already;
 * else -errno.
 */
int sideband_adopt_ring(struct sideband *sideband, const struct sideband_ring *ring);
/* Gives up the rings that were not adopted since the last call, once it has read what is left in
 * them. Returns 0 or -ENOMEM, with the rings given up either way. */
int sideband_drop_others(struct sideband *sideband);
/* Do these rings tell of new cgroups (Linux 5.7)? They do at first. */
void sideband_set_tells_cgroups(struct sideband *sideband, bool tells_cgroups);

/*
 * Or opens and follows rings of its own, where the privilege is here and nothing else of capture is
 * needed. Returns 0 or -errno.
 */
int sideband_set_cpus(struct sideband *sideband, const uint32_t *cpus, size_t count);

/* Does the kernel tell of new cgroups? Known once there are rings. */
bool sideband_tells_cgroups(const struct sideband *sideband);

/*
 * An epoll descriptor that is readable when there has come a record; borrowed. On a busy machine
 * that is always: whoever reads now and then should not wait for it meanwhile.
 */
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
