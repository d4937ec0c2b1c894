/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Opens the perf events and rings of the side-band, one for each CPU, which needs privilege. It
 * never reads them. It maps the rings so that they and their records outlive the reader
 * (sideband.h), and so that the kernel charges this user for them. One owner, one thread.
 */
#pragma once

#include "base/cleanup.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct perf_event_opener;
struct sideband_rings;

struct sideband_ring {
	uint64_t id; /* unique among all rings that were ever open here */
	uint32_t cpu;
	int fd; /* borrowed */
};

/* `ring_bytes` is for each CPU, a power of two of pages. Borrows `opener`. Returns 0 or -ENOMEM. */
int sideband_rings_new(
	size_t ring_bytes, struct perf_event_opener *opener, struct sideband_rings **ret_rings);
void sideband_rings_free(struct sideband_rings *rings);
DEFINE_CLEANUP(struct sideband_rings, sideband_rings_free);

/*
 * Has rings for exactly these CPUs. A ring whose CPU went offline and came back is reopened. A CPU
 * that vanishes meanwhile is skipped. A process that has mapped a closed ring can still read its
 * records. Returns 0 or -errno: then some CPUs have no ring until the next call tries again, and
 * all others have one.
 */
int sideband_rings_set_cpus(struct sideband_rings *rings, const uint32_t *cpus, size_t count);

size_t sideband_rings_count(const struct sideband_rings *rings);
/* `index` below the count. */
struct sideband_ring sideband_rings_get(const struct sideband_rings *rings, size_t index);

/* Changes whenever a ring was opened or closed. */
uint64_t sideband_rings_generation(const struct sideband_rings *rings);

/* Does the kernel report new cgroups (Linux 5.7)? Known once there are rings. */
bool sideband_rings_report_cgroups(const struct sideband_rings *rings);
