/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "steer/memory_shares.h"

#include "capture/map_sizes.h"
#include "labels/cgroup_table.h"
#include "labels/claim_table.h"
#include "pilotlight/event.h"
#include "process/image_table.h"
#include "process/process_table.h"
#include "resolve/binary_table.h"
#include "symbol/elf_image.h"

#include <errno.h>
#include <inttypes.h>
#include <unistd.h>

enum {
	MIB = 1 << 20,
	/* Measured: 6 MiB of code, 6 MiB of kernel symbols, 2 MiB of known stacks, two heaps. */
	BASE_BYTES = 16 * MIB,
	STORE_BYTES = 8 * MIB, /* store.h: plus a part of the profile */
	STORE_PROFILE_PART = 6,
	REST_BYTES_MIN = 7 * MIB, /* the part that the percentages divide */

	SIDEBAND_PART = 8, /* at most this part of the budget after base and store */
	SIDEBAND_BYTES_MAX = 8 * MIB,
	RING_BYTES_MAX = 512 << 10, /* for each CPU; the kernel requires a power of two */
	RING_BYTES_MIN = 32 << 10,

	LIVE_PART = 12, /* of the rest, if a source counts what lives */

	JIT_PERCENT = 8,
	RUNTIME_PERCENT = 2,
	LATE_PERCENT = 3,
	PROCESS_PERCENT = 14,
	PROFILE_PERCENT = 23, /* two profiles and the store's part of one */
	MAP_PERCENT = 50,
	SAMPLE_PERCENT = 55, /* at most this much of the maps; unwind tables get the rest */
	UNWIND_BYTES_MAX = 64 * MIB,

	/* Parts of process_bytes, in eighths. */
	TABLE_EIGHTHS = 4,
	BINARY_EIGHTHS = 3,
	CGROUP_EIGHTHS = 1,

	/*
	 * Shares of the process table. A short-lived process needs an image until its samples are
	 * drained, but rarely a new file.
	 */
	IMAGE_PERCENT = 25,
	MAPPING_PERCENT = 50,
	FILE_PERCENT = 13,
	PATH_PERCENT = 12,
	IMAGE_BYTES = sizeof(struct image) + 2 * sizeof(uint32_t),
	FILE_BYTES = 160, /* an entry, two buckets, malloc() overhead of a path */

	/* An entry with its index slot, an image, a path, and malloc() overhead of both. */
	BINARY_PATH_BYTES = 96,
	BINARY_BYTES = 176 + sizeof(struct elf_image) + 32 + BINARY_PATH_BYTES,

	CGROUP_BYTES = 96, /* an entry and its bucket */
	CGROUP_PATH_BYTES = 256,
	CGROUP_PATH_TIMES = 2, /* old and new paths exist during a rescan */

	/* More entries have no use. */
	ENTRIES_MAX = 1 << 18,
};
_Static_assert(JIT_PERCENT + RUNTIME_PERCENT + LATE_PERCENT + PROCESS_PERCENT + PROFILE_PERCENT +
			       MAP_PERCENT ==
		       100,
	"shares of a whole");
_Static_assert(
	IMAGE_PERCENT + MAPPING_PERCENT + FILE_PERCENT + PATH_PERCENT == 100, "shares of a whole");
_Static_assert(TABLE_EIGHTHS + BINARY_EIGHTHS + CGROUP_EIGHTHS == 8, "parts of a whole");

/* More than any machine has; keeps sums from overflowing. */
#define JIT_BYTES_MAX ((size_t)1 << 48)

static size_t percent(size_t bytes, unsigned share)
{
	return bytes / 100 * share;
}

static size_t at_most(size_t n, size_t most)
{
	return n < most ? n : most;
}

/* Each ring has one extra page: the kernel's control page. */
static uint64_t sideband_bytes(uint32_t cpu_count, size_t ring_bytes)
{
	return (uint64_t)cpu_count * (ring_bytes + (size_t)sysconf(_SC_PAGESIZE));
}

/* Rings shrink with the number of CPUs, as in capture, and with the budget. */
static uint64_t share_sideband(uint32_t cpu_count, uint64_t left_bytes)
{
	size_t ring_bytes = RING_BYTES_MAX;
	uint64_t most = left_bytes / SIDEBAND_PART;

	while (ring_bytes > RING_BYTES_MIN &&
		((uint64_t)cpu_count * ring_bytes > SIDEBAND_BYTES_MAX ||
			sideband_bytes(cpu_count, ring_bytes) > most))
		ring_bytes /= 2;
	return sideband_bytes(cpu_count, ring_bytes);
}

/* The size of the sample maps if they hold all samples between two drains. */
static size_t needed_map_bytes(const struct memory_work *work, size_t budget_bytes)
{
	const struct map_sizes_work full = {
		.rate_hz = work->rate_hz,
		.cpu_count = work->cpu_count,
		.waits_hz = map_sizes_waits_hz(work->sources),
		.has_live = map_sizes_has_live(work->sources),
		.stack_depth = PILOTLIGHT_STACK_DEPTH,
		.has_walks = true,
	};
	struct map_sizes sizes;

	map_sizes_compute(&full, budget_bytes, &sizes);
	return at_most(sizes.total_bytes, budget_bytes);
}

static uint64_t least_bytes(const struct memory_work *work)
{
	uint64_t least = (uint64_t)BASE_BYTES + STORE_BYTES + CLAIM_TABLE_BYTES_MAX +
			 work->sink_bytes + at_most(work->jit_bytes, JIT_BYTES_MAX) +
			 REST_BYTES_MIN + sideband_bytes(work->cpu_count, RING_BYTES_MIN);

	least = (least + MIB - 1) / MIB * MIB;
	return least > MEMORY_BUDGET_MIN ? least : MEMORY_BUDGET_MIN;
}

static size_t sum(const struct memory_shares *shares)
{
	return shares->map_bytes + shares->sideband_bytes + 2 * shares->profile_bytes +
	       shares->jit_bytes + shares->runtime_bytes + shares->late_bytes + shares->live_bytes +
	       shares->process_bytes + shares->claim_bytes + shares->sink_bytes +
	       shares->store_bytes + shares->base_bytes;
}

int memory_shares_compute(uint64_t budget_bytes, const struct memory_work *work,
	struct memory_shares *ret_shares, struct fault *fault)
{
	struct memory_shares shares = { .base_bytes = BASE_BYTES,
		.claim_bytes = CLAIM_TABLE_BYTES_MAX,
		.sink_bytes = work->sink_bytes };
	uint64_t least = least_bytes(work);
	size_t left, maps, samples, profiles;

	if (budget_bytes < least)
		return fault_set(fault, -ENOSPC,
			"a memory budget of %" PRIu64 " MiB is too small for %" PRIu32
			" CPUs: the least is %" PRIu64 " MiB",
			budget_bytes / MIB, work->cpu_count, least / MIB);
	left = (size_t)budget_bytes - BASE_BYTES - STORE_BYTES - CLAIM_TABLE_BYTES_MAX -
	       work->sink_bytes - work->jit_bytes;
	shares.sideband_bytes = (size_t)share_sideband(work->cpu_count, left);
	left -= shares.sideband_bytes;
	if (map_sizes_has_live(work->sources))
		shares.live_bytes = left / LIVE_PART;
	left -= shares.live_bytes;

	shares.jit_bytes = work->jit_bytes ? work->jit_bytes : percent(left, JIT_PERCENT);
	shares.runtime_bytes = percent(left, RUNTIME_PERCENT);
	shares.late_bytes = percent(left, LATE_PERCENT);
	shares.process_bytes = percent(left, PROCESS_PERCENT);
	/* Two profiles plus the store's 1/6 of one: 13/6 of a profile. */
	profiles = percent(left, PROFILE_PERCENT);
	shares.profile_bytes = profiles / (2 * STORE_PROFILE_PART + 1) * STORE_PROFILE_PART;
	shares.store_bytes = STORE_BYTES + shares.profile_bytes / STORE_PROFILE_PART;
	maps = percent(left, MAP_PERCENT);
	samples = needed_map_bytes(work, percent(maps, SAMPLE_PERCENT));
	shares.thread_bytes = map_sizes_thread_bytes(work->sources, maps);
	shares.unwind_bytes = at_most(maps - samples - shares.thread_bytes, UNWIND_BYTES_MAX);
	shares.map_bytes = shares.unwind_bytes + shares.thread_bytes + samples;
	shares.total_bytes = sum(&shares);
	*ret_shares = shares;
	return 0;
}

static size_t entries(size_t bytes, size_t entry_bytes)
{
	size_t count = bytes / entry_bytes;

	return count > 0 ? at_most(count, ENTRIES_MAX) : 1;
}

void memory_shares_process_limits(
	const struct memory_shares *shares, struct process_table_limits *ret_limits)
{
	size_t bytes = shares->process_bytes / 8 * TABLE_EIGHTHS;

	*ret_limits = (struct process_table_limits){
		.images = entries(percent(bytes, IMAGE_PERCENT), IMAGE_BYTES),
		.mappings_per_image = process_table_default_limits.mappings_per_image,
		.files = entries(percent(bytes, FILE_PERCENT), FILE_BYTES),
		.path_bytes = percent(bytes, PATH_PERCENT),
		.mappings =
			entries(percent(bytes, MAPPING_PERCENT), sizeof(struct process_mapping)),
	};
}

void memory_shares_binary_limits(
	const struct memory_shares *shares, struct binary_table_limits *ret_limits)
{
	size_t count = entries(shares->process_bytes / 8 * BINARY_EIGHTHS, BINARY_BYTES);

	*ret_limits = (struct binary_table_limits){
		.binaries_max = count,
		.descriptors_max = at_most(binary_table_default_limits.descriptors_max, count),
		.path_bytes_max = count * BINARY_PATH_BYTES,
	};
}

void memory_shares_cgroup_limits(
	const struct memory_shares *shares, struct cgroup_table_limits *ret_limits)
{
	size_t count = entries(shares->process_bytes / 8 * CGROUP_EIGHTHS,
		CGROUP_BYTES + CGROUP_PATH_TIMES * CGROUP_PATH_BYTES);

	*ret_limits = (struct cgroup_table_limits){
		.cgroups = count,
		.path_bytes = count * CGROUP_PATH_BYTES,
	};
}
