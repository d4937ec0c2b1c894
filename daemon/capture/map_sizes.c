/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/map_sizes.h"

#include "pilotlight/event.h"

#include <stdbool.h>

enum {
	STACK_SLOTS_MIN = 64,
	STACK_SLOTS_MAX = 1 << 16,
	/*
	 * Buckets for each stack of a window. If all stacks differ, one in eight collides; in
	 * practice stacks repeat, and a few in a thousand do.
	 */
	SLOTS_PER_STACK = 4,
	/*
	 * A little more than a quarter of the usual window, so that the fourth drain is at its end.
	 */
	PERIOD_MS_MAX = 2550,
	PERIOD_MS_MIN = 100,
	KNOWN_STACKS_PER_SLOT = 2, /* they outlive windows; an entry takes a tenth of a slot */
	RING_BYTES_MIN = 64 * 1024,
	RING_BYTES_MAX = 4 * 1024 * 1024,
	RING_SHARE = 8,		 /* at most one part in this many of the budget */
	RING_WALKED_BYTES = 512, /* ring bytes that a walked sample usually takes */
	/* For functions of interpreters that are new: a compiler in JavaScript has some 2 MiB. */
	RING_CODE_BYTES = 512 * 1024,
	RING_SAMPLE_BYTES = 1024, /* half of what any other sample takes, of which few are sent */
	STACK_BUCKET_BYTES = 8 + 16, /* pointer, and struct stack_map_bucket */
	HASH_ENTRY_BYTES = 16 + 48,  /* struct bucket, and struct htab_elem */
	/* Of each source on each CPU. More of them fill the ring, which wakes the engine early. */
	WAITS_HZ = 100,
	THREAD_PART = 8, /* the part of the budget for threads whose waits are sampled */
	LIVE_SLOTS_MAX = 1 << 16,
	LIVE_SLOTS_MIN = 1 << 12,
	LIVE_SHARE = 8, /* at most one part in this many of the budget */
	LIVE_SLOT_BYTES = sizeof(struct pilotlight_live_key) + sizeof(struct pilotlight_live) +
			  HASH_ENTRY_BYTES,
};

static uint64_t power_of_two_at_least(uint64_t n)
{
	uint64_t power = 1;

	while (power < n)
		power *= 2;
	return power;
}

static uint64_t clamp(uint64_t n, uint64_t low, uint64_t high)
{
	return n < low ? low : n > high ? high : n;
}

uint32_t map_sizes_waits_hz(uint32_t sources)
{
	uint32_t waits_hz = 0;

	for (int i = PILOTLIGHT_SOURCE_CPU + 1; i < PILOTLIGHT_SOURCES; i++)
		if (sources & 1U << i)
			waits_hz += WAITS_HZ;
	return waits_hz;
}

size_t map_sizes_thread_bytes(uint32_t sources, size_t map_budget_bytes)
{
	const uint32_t waits = 1U << PILOTLIGHT_SOURCE_OFFCPU | 1U << PILOTLIGHT_SOURCE_RUNQUEUE;

	return sources & waits ? map_budget_bytes / THREAD_PART : 0;
}

bool map_sizes_has_live(uint32_t sources)
{
	return sources & (1U << PILOTLIGHT_SOURCE_KMEM_LIVE | 1U << PILOTLIGHT_SOURCE_HEAP_LIVE);
}

size_t map_sizes_bytes(const struct map_sizes *sizes)
{
	size_t frames = sizes->stack_depth;
	size_t set = 0, known;

	set += sizes->stack_slots * (frames * sizeof(uint64_t) + STACK_BUCKET_BYTES);
	set += sizes->build_id_stack_slots *
	       (frames * sizeof(struct pilotlight_user_frame) + STACK_BUCKET_BYTES);
	set += sizes->count_slots *
	       (sizeof(struct pilotlight_sample_key) + sizeof(struct pilotlight_sample_count) +
		       HASH_ENTRY_BYTES);
	known = sizes->known_stack_slots *
		(sizeof(struct pilotlight_known_stack_key) + sizeof(struct pilotlight_known_stack) +
			HASH_ENTRY_BYTES);
	return PILOTLIGHT_SET_COUNT * set + known + sizes->walk_slots * sizeof(uint64_t) +
	       sizes->live_slots * (size_t)LIVE_SLOT_BYTES + sizes->ring_bytes;
}

/*
 * Sets the sizes that follow from raw stackmaps of `slots`. Few stacks of a window are new to their
 * process, and only those enter the build-id map, whose entries are four times as big. A stack that
 * loses its bucket there is resolved by its raw addresses. A full map sends its stacks through the
 * ring.
 */
static void set_stack_slots(struct map_sizes *sizes, bool has_walks, uint32_t slots)
{
	sizes->stack_slots = slots;
	sizes->build_id_stack_slots = slots / 4 > STACK_SLOTS_MIN ? slots / 4 : STACK_SLOTS_MIN;
	sizes->count_slots = slots;
	sizes->walk_slots = has_walks ? slots : 0;
	sizes->known_stack_slots = slots * KNOWN_STACKS_PER_SLOT;
	sizes->total_bytes = map_sizes_bytes(sizes);
}

void map_sizes_compute(
	const struct map_sizes_work *work, size_t budget_bytes, struct map_sizes *ret_sizes)
{
	uint64_t samples_per_second = ((uint64_t)work->rate_hz + work->waits_hz) * work->cpu_count;
	uint64_t slots_per_sample = work->has_walks ? SLOTS_PER_STACK : 2 * SLOTS_PER_STACK;
	uint64_t slots, ring_needed, ring_max;
	struct map_sizes sizes = { .stack_depth = work->stack_depth, .cpu_count = work->cpu_count };

	if (samples_per_second == 0)
		samples_per_second = 1;
	ring_max = clamp(budget_bytes / RING_SHARE, RING_BYTES_MIN, RING_BYTES_MAX);
	sizes.ring_bytes = RING_BYTES_MIN;
	/* The reader is woken when the ring is half full. */
	ring_needed = work->has_walks
			      ? samples_per_second * PERIOD_MS_MAX / 1000 * RING_WALKED_BYTES * 2
			      : samples_per_second * RING_SAMPLE_BYTES;
	while (sizes.ring_bytes * 2 <= ring_max && sizes.ring_bytes < ring_needed)
		sizes.ring_bytes *= 2;

	if (work->has_live)
		sizes.live_slots = (uint32_t)clamp(budget_bytes / LIVE_SHARE / LIVE_SLOT_BYTES,
			LIVE_SLOTS_MIN, LIVE_SLOTS_MAX);
	slots = samples_per_second * PERIOD_MS_MAX / 1000 * slots_per_sample;
	if (work->forced_stack_slots)
		slots = work->forced_stack_slots;
	set_stack_slots(&sizes, work->has_walks,
		(uint32_t)power_of_two_at_least(clamp(slots, STACK_SLOTS_MIN, STACK_SLOTS_MAX)));
	while (!work->forced_stack_slots && sizes.total_bytes > budget_bytes &&
		sizes.stack_slots > STACK_SLOTS_MIN)
		set_stack_slots(&sizes, work->has_walks, sizes.stack_slots / 2);
	/* New code has more room in the ring if stacks do not have less for it. */
	if (work->has_walks && sizes.ring_bytes < ring_needed + RING_CODE_BYTES &&
		sizes.ring_bytes * 2 <= ring_max &&
		sizes.total_bytes + sizes.ring_bytes <= budget_bytes) {
		sizes.total_bytes += sizes.ring_bytes;
		sizes.ring_bytes *= 2;
	}

	sizes.drain_period_ms = (uint32_t)clamp(
		(uint64_t)sizes.stack_slots * 1000 / slots_per_sample / samples_per_second,
		PERIOD_MS_MIN, PERIOD_MS_MAX);
	*ret_sizes = sizes;
}
