/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How big the maps are, computed from the work: rate × CPUs × drain period, under a budget in
 * bytes. Where the budget is too small for the period, the period gives way, not the samples.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct map_sizes {
	uint32_t stack_slots;	       /* of a raw stackmap: a power of two */
	uint32_t build_id_stack_slots; /* for those that are new */
	uint32_t count_slots;
	uint32_t known_stack_slots;
	uint32_t walk_slots;  /* marks of walked stacks: a power of two; 0: none are walked */
	uint32_t stack_depth; /* frames of a stack */
	uint32_t ring_bytes;  /* a power of two, at least a page */
	/* How often the sets must be flipped for the above to hold; oftener where the ring asks. */
	uint32_t drain_period_ms;
	uint32_t cpu_count; /* what they were computed for */
	size_t total_bytes; /* of both sets and the ring */
};

/* Bytes that a map of `slots` entries takes; the kernel's own overhead included. */
size_t map_sizes_bytes(const struct map_sizes *sizes);

/* What the maps are to hold. */
struct map_sizes_work {
	uint32_t rate_hz, cpu_count;
	uint32_t stack_depth; /* kernel.perf_event_max_stack, at most PILOTLIGHT_STACK_DEPTH */
	uint32_t forced_stack_slots; /* of the raw stackmaps; 0: computed */
	bool has_walks; /* the sampler walks user stacks: stackmaps are for the kernel's, mostly */
};

/* Never fails: what comes out at the least is 64 slots and a ring of 64 KiB, however small the
 * budget. */
void map_sizes_compute(
	const struct map_sizes_work *work, size_t budget_bytes, struct map_sizes *ret_sizes);
