/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/sideband_rings.h"

#include "base/array.h"
#include "capture/cpu_list.h"
#include "capture/perf_event.h"
#include "capture/perf_event_opener.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

struct mapped_ring {
	struct sideband_ring ring; /* its descriptor is owned */
	uint64_t enabled_ns;	   /* when last read */
	void *pages;
};

struct sideband_rings {
	size_t ring_bytes, mapped_bytes; /* of one ring */
	struct perf_event_opener *opener;
	bool has_cgroups; /* false once the kernel has refused to report them */
	uint64_t last_id, generation;
	struct mapped_ring *items;
	size_t count, capacity;
};

static void close_ring(const struct sideband_rings *rings, struct mapped_ring *item)
{
	if (item->pages)
		(void)munmap(item->pages, rings->mapped_bytes);
	if (item->ring.fd >= 0)
		(void)close(item->ring.fd);
}

int sideband_rings_new(
	size_t ring_bytes, struct perf_event_opener *opener, struct sideband_rings **ret_rings)
{
	struct sideband_rings *rings = calloc(1, sizeof(*rings));

	if (!rings)
		return -ENOMEM;
	rings->ring_bytes = ring_bytes;
	rings->opener = opener;
	rings->mapped_bytes = (size_t)sysconf(_SC_PAGESIZE) + ring_bytes;
	rings->has_cgroups = true;
	*ret_rings = rings;
	return 0;
}

void sideband_rings_free(struct sideband_rings *rings)
{
	if (!rings)
		return;
	for (size_t i = 0; i < rings->count; i++)
		close_ring(rings, &rings->items[i]);
	free(rings->items);
	free(rings);
}

/*
 * Does not set attr.build_id, though it would save the engine from reading files. The kernel would
 * then mark the records of all other users' events as having build-ids, too, because it never
 * clears the mark in the header that they share (perf_event_mmap_output(), seen on 6.18). A perf
 * that records at the same time would read an inode number as a build-id, and abort.
 */
static int open_event(struct sideband_rings *rings, uint32_t cpu)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED,
		.sample_id_all = 1,
		.mmap = 1,
		.mmap2 = 1,
		.comm = 1,
		.comm_exec = 1,
		.task = 1,
		.ksymbol = 1,
		.cgroup = rings->has_cgroups,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.watermark = 1,
		.wakeup_watermark = 1, /* wake up at each record, for readers that poll */
	};
	int fd = perf_event_opener_open(rings->opener, &attr, cpu);

	/* Kernels before 5.7 reject the bit as reserved. */
	if (fd != -EINVAL || !rings->has_cgroups)
		return fd;
	attr.cgroup = 0;
	fd = perf_event_opener_open(rings->opener, &attr, cpu);
	if (fd >= 0)
		rings->has_cgroups = false;
	return fd;
}

static int add_ring(struct sideband_rings *rings, uint32_t cpu)
{
	struct mapped_ring item = { .ring = { .cpu = cpu, .fd = -1 } };
	int r;

	r = ARRAY_RESERVE(rings->items, &rings->capacity, rings->count + 1, CPU_LIST_MAX);
	if (r < 0)
		return r;
	item.ring.fd = open_event(rings, cpu);
	if (item.ring.fd < 0)
		return item.ring.fd;
	item.pages = mmap(
		NULL, rings->mapped_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, item.ring.fd, 0);
	if (item.pages == MAP_FAILED) {
		r = -errno;
		item.pages = NULL;
		close_ring(rings, &item);
		return r;
	}
	item.ring.id = ++rings->last_id;
	rings->items[rings->count++] = item;
	rings->generation++;
	return 0;
}

static bool has_cpu(const uint32_t *cpus, size_t count, uint32_t cpu)
{
	for (size_t i = 0; i < count; i++)
		if (cpus[i] == cpu)
			return true;
	return false;
}

static bool has_ring(const struct sideband_rings *rings, uint32_t cpu)
{
	for (size_t i = 0; i < rings->count; i++)
		if (rings->items[i].ring.cpu == cpu)
			return true;
	return false;
}

int sideband_rings_set_cpus(struct sideband_rings *rings, const uint32_t *cpus, size_t count)
{
	size_t kept = 0;
	int failed = 0, r;

	for (size_t i = 0; i < rings->count; i++) {
		struct mapped_ring item = rings->items[i];

		if (has_cpu(cpus, count, item.ring.cpu) &&
			perf_event_advance(item.ring.fd, &item.enabled_ns)) {
			rings->items[kept++] = item;
			continue;
		}
		close_ring(rings, &item);
		rings->generation++;
	}
	rings->count = kept;

	for (size_t i = 0; i < count; i++) {
		if (has_ring(rings, cpus[i]))
			continue;
		r = add_ring(rings, cpus[i]);
		if (r < 0 && r != -ENODEV) /* -ENODEV: the CPU has gone again */
			failed = r;
	}
	return failed;
}

size_t sideband_rings_count(const struct sideband_rings *rings)
{
	return rings->count;
}

struct sideband_ring sideband_rings_get(const struct sideband_rings *rings, size_t index)
{
	return rings->items[index].ring;
}

uint64_t sideband_rings_generation(const struct sideband_rings *rings)
{
	return rings->generation;
}

bool sideband_rings_report_cgroups(const struct sideband_rings *rings)
{
	return rings->has_cgroups && rings->count > 0;
}
