/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Computes the sizes of the maps from the work, rate × CPUs × drain period, within a budget in
 * bytes. If the budget is too small, the period gets shorter; no samples are lost.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct map_sizes {
	uint32_t stack_slots;	       /* of a raw stackmap: a power of two */
	uint32_t build_id_stack_slots; /* for stacks that are new */
	uint32_t count_slots;
	uint32_t known_stack_slots;
	uint32_t walk_slots; /* marks of walked stacks: a power of two; 0: the sampler does not walk
			      */
	uint32_t stack_depth; /* frames of a stack */
	uint32_t ring_bytes;  /* a power of two, at least a page */
	uint32_t live_slots;  /* sampled allocations that may live; 0: no source counts them */
	/*
	 * The longest time between flips of the sets for these sizes to hold. The ring may request
	 * earlier ones.
	 */
	uint32_t drain_period_ms;
	uint32_t cpu_count; /* the CPUs that the sizes were computed for */
	size_t total_bytes; /* of both sets and the ring */
};

/* Bytes of all maps, including the kernel's own overhead. */
size_t map_sizes_bytes(const struct map_sizes *sizes);

/* The samples of waits to expect on each CPU, with these sources: a set of bits. */
uint32_t map_sizes_waits_hz(uint32_t sources);

/*
 * What the kernel keeps for a thread while its waits are sampled: 128 bytes for the value
 * (bpf/scheduler_threads.bpf.h), and 192 for the list of the thread's values.
 */
enum { MAP_SIZES_THREAD_BYTES = 320 };

/* The part of a budget for all maps that threads may take, with these sources. */
size_t map_sizes_thread_bytes(uint32_t sources, size_t map_budget_bytes);

/* Does one of the sources count what lives? */
bool map_sizes_has_live(uint32_t sources);

/* The work that the maps must hold. */
struct map_sizes_work {
	uint32_t rate_hz, cpu_count;
	uint32_t waits_hz;    /* map_sizes_waits_hz() */
	uint32_t stack_depth; /* kernel.perf_event_max_stack, at most PILOTLIGHT_STACK_DEPTH */
	uint32_t forced_stack_slots; /* of the raw stackmaps; 0: computed */
	bool has_live;		     /* map_sizes_has_live() */
	bool has_walks; /* the sampler walks user stacks; the stackmaps then hold mostly kernel
			   stacks */
};

/* Never fails: the minimum is 64 slots and a ring of 64 KiB, whatever the budget. */
void map_sizes_compute(
	const struct map_sizes_work *work, size_t budget_bytes, struct map_sizes *ret_sizes);
