/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The sampler's decisions, apart from the helpers that it calls: they compile for the host too,
 * where they are tested (perf_event programs cannot be run by BPF_PROG_TEST_RUN).
 *
 * The order of things, and why:
 *  1. A stack that the sampler has walked itself goes through the ring as it is, with its sample.
 *     At the rates of a profiler that is always on hardly a stack comes twice in a window, so that
 *     to look it up and to count it costs more than to send it; and what has its own time can be
 *     named where code comes and goes (JIT). Where the ring is nearly full stacks are counted, by
 *     their hash, and sent once a window: what cannot be told apart is not named.
 *  2. Of stacks that the kernel walks, the raw-ip stackmap answers "seen before in this window?" at
 *     the price of a hash.
 *  3. Only a (program image, raw stack) that is not known from this window or an earlier one asks
 *     for build-ids, and at most once an interrupt: with interrupts off the kernel gives the mmap
 *     lock back through one per-CPU irq_work, and a second request in the same run gets raw ips.
 *  4. What the maps cannot hold goes through the ring buffer with its frames, so that the stack
 *     that collides, which may be the hottest one, is never the one that is missing.
 */
#pragma once

#include "pilotlight/event.h"

/* Not from errno.h, which the BPF target does not have. */
enum { SAMPLER_EFAULT = 14, SAMPLER_EEXIST = 17, SAMPLER_ENOMEM = 12 };

/* What to do with the answer of bpf_get_stackid(). */
enum stack_answer {
	STACK_STORED,
	STACK_ABSENT,	/* no such stack in this context: a kernel thread's user stack, user mode */
	STACK_COLLIDED, /* another stack holds the slot */
	STACK_MAP_FULL,
	STACK_ERROR,
};

static inline enum stack_answer stack_answer_of(long id)
{
	if (id >= 0)
		return STACK_STORED;
	switch (-id) {
	case SAMPLER_EFAULT:
		return STACK_ABSENT;
	case SAMPLER_EEXIST:
		return STACK_COLLIDED;
	case SAMPLER_ENOMEM:
		return STACK_MAP_FULL;
	default:
		return STACK_ERROR;
	}
}

/* The stack id for a sample_key: stackmaps answer with small integers, absence is NONE. */
static inline __s64 stack_id_of(long id)
{
	return id >= 0 ? id : PILOTLIGHT_STACK_NONE;
}

/*
 * The build-id stack of a known stack: of an earlier window, its id means nothing any more, and the
 * engine has the answer already.
 */
static inline __s64 known_build_id_stack(const struct pilotlight_known_stack *known, __u32 window)
{
	return known->window == window ? known->build_id_stack : PILOTLIGHT_STACK_NONE;
}

/*
 * A walked stack has another hash in each window, so that what is known of one by its hash, that it
 * has been sent or counted, is known of this window alone.
 */
static inline __u64 walk_seed_of(__u64 seed, __u32 window)
{
	return seed + (window + 1ULL) * 0x9e3779b97f4a7c15ULL;
}

/* Is a stack with this answer named by its id, or there is none? */
static inline int stack_answer_is_in_maps(enum stack_answer answer)
{
	return answer == STACK_STORED || answer == STACK_ABSENT;
}

/* Must a sample with these two raw stacks go through the ring? */
static inline int stack_answer_needs_ring(enum stack_answer answer)
{
	return answer == STACK_COLLIDED || answer == STACK_MAP_FULL;
}

/* Entries that a bpf_get_stack() of `bytes` filled, where an error or nothing is no entry. */
static inline __u32 stack_entries(long bytes, __u32 entry_bytes)
{
	if (bytes <= 0)
		return 0;
	bytes /= entry_bytes;
	return bytes > PILOTLIGHT_STACK_DEPTH ? PILOTLIGHT_STACK_DEPTH : (__u32)bytes;
}
