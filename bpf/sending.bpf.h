/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the programs of sampler.bpf.c, which sample the current thread, and those of visitor.bpf.c,
 * which sample others, have in common: constants, the walkers, and how records are sent and
 * counted. The host loads the two objects one after the other. They use the same maps, and the same
 * variables if these are SHARED. No other variable may be in both, as the host reads one of the
 * two.
 *
 * The includer has included own_memory.bpf.h or other_memory.bpf.h.
 */
#pragma once

#include "pilotlight/walk.h"
#include "sampler.bpf.h"
#include "sampler_maps.bpf.h"
#include "shared.bpf.h"
#include "task.bpf.h"
#include "walker.bpf.h"

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

/* The current window. Its parity selects the set of maps. The engine has this mapped and
 * increments it. */
volatile __u32 active_window SHARED;

/* Constants, set before loading. */
const volatile __u8 wants_kernel = 1;
const volatile __u8 wants_walks; /* walk by unwind tables where there are any */
const volatile __u64 walk_seed;
const volatile __u32 ring_bytes;

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct walker);
} walkers SEC(".maps");

/* A sample on its way to the maps or the ring. */
struct sample {
	struct pilotlight_sample_key key;
	__u64 address; /* as in pilotlight_ring_sample */
	__u32 window;
	__u32 periods;
	__u8 has_kernel_stack;
	__u8 skipped_frames; /* of the kernel stack */
	__u8 reserved[6];
};

enum { VISITOR_ENTRY = 2 }; /* of iterators, which see other threads */

/* The CPU's maps have an entry for samples of CPU time, which interrupt the others. */
static __always_inline __u32 entry_of(const struct sample *sample)
{
	return sample->key.source != PILOTLIGHT_SOURCE_CPU;
}

/* Programs of one source may preempt each other. */
static __always_inline void count(__u64 *counter, __u64 periods)
{
	__sync_fetch_and_add(counter, periods);
}

/* Wakes the reader when the ring is half full. Until then it reads at the next flip. */
static __always_inline __u64 wakeup_flags(__u64 waiting_bytes)
{
	return waiting_bytes > ring_bytes / 2 ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP;
}

/* Is there room for samples that the maps could count instead? */
static __always_inline int has_room_to_spare(__u64 waiting_bytes)
{
	return waiting_bytes < ring_bytes / 4 * 3;
}

/*
 * Returns 0 if the ring is full. Before Linux 6.15 bpf_ringbuf_output() also fails in an NMI while
 * another CPU holds the ring's lock, for some tens of ns. So it is tried twice, and no more (I5).
 */
static __always_inline int send(void *record, __u32 size, __u64 waiting_bytes)
{
	__u64 flags = wakeup_flags(waiting_bytes);

	return bpf_ringbuf_output(&ring, record, size, flags) == 0 ||
	       (has_room_to_spare(waiting_bytes) &&
		       bpf_ringbuf_output(&ring, record, size, flags) == 0);
}

static __always_inline void note_walk(
	struct pilotlight_counters *counters, const struct walker *walker, __u32 periods)
{
	__u32 end = walker->walk.record.end;

	count(&counters->walked[PILOTLIGHT_WALKER_TABLES], periods);
	if (end < PILOTLIGHT_WALK_ENDS)
		count(&counters->ends[end], periods);
}
