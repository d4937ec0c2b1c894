/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The perf events of the side-band, one a CPU, each with its ring: what takes privilege of it.
 * Nobody reads here. The rings are mapped all the same, so that they and what is in them outlive
 * whoever reads (sideband.h), and so that it is this user whom the kernel charges for them. One
 * owner, one thread.
 */
#pragma once

#include "base/cleanup.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sideband_rings;

struct sideband_ring {
	uint64_t id; /* no other ring of these has it, or had it */
	uint32_t cpu;
	int fd; /* borrowed */
};

/* `ring_bytes` a CPU, a power of two of pages. Returns 0 or -ENOMEM. */
int sideband_rings_new(size_t ring_bytes, struct sideband_rings **ret_rings);
void sideband_rings_free(struct sideband_rings *rings);
DEFINE_CLEANUP(struct sideband_rings, sideband_rings_free);

/*
 * Makes the CPUs be `cpus`. A ring whose CPU went away and came back is opened anew; a CPU that
 * vanishes meanwhile is passed over. What was in a ring that goes is for those who have mapped it.
 * Returns 0 or -errno: then CPUs are without a ring until the next call, which tries them again,
 * and all others have theirs.
 */
int sideband_rings_set_cpus(struct sideband_rings *rings, const uint32_t *cpus, size_t count);

size_t sideband_rings_count(const struct sideband_rings *rings);
/* `index` below the count. */
struct sideband_ring sideband_rings_get(const struct sideband_rings *rings, size_t index);

/* Another number whenever a ring has come or gone. */
uint64_t sideband_rings_generation(const struct sideband_rings *rings);

/* Does the kernel tell of new cgroups (Linux 5.7)? Known once there are CPUs. */
bool sideband_rings_tell_cgroups(const struct sideband_rings *rings);
