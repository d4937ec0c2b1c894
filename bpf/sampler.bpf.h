/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The sampler's decisions, without the helpers that it calls. They also compile for the host, where
 * they are tested: BPF_PROG_TEST_RUN does not run perf_event programs.
 *
 * What happens to a sample, and why:
 *  1. A stack that the sampler has walked itself goes through the ring with its sample. At the low
 *     rates of an always-on profiler hardly any stack comes twice in a window, so looking it up and
 *     counting it would cost more than sending it. A sample with its own time can also be named
 *     where code comes and goes (JIT). While the ring is nearly full, samples are counted by the
 *     hash of their stack, and the stack is sent once per window.
 *  2. For a stack that the kernel walks, the raw-ip stackmap answers "seen before in this window?"
 *     for the price of a hash.
 *  3. Only a (program image, raw stack) that is new to this window and to earlier ones requests
 *     build-ids, at most once per interrupt. With interrupts off, the kernel releases the mmap lock
 *     through one irq_work per CPU; a second request in the same run gets raw ips.
 *  4. A sample that the maps cannot hold goes through the ring with its frames. So a stack that
 *     collides with another, maybe the hottest one, is not lost.
 */
#pragma once

#include "pilotlight/event.h"

/* The BPF target has no errno.h. */
enum { SAMPLER_EFAULT = 14, SAMPLER_EEXIST = 17, SAMPLER_ENOMEM = 12 };

/* What an answer of bpf_get_stackid() means. */
enum stack_answer {
	STACK_STORED,
	STACK_ABSENT, /* no such stack: a kernel thread's user stack, a kernel stack in user mode */
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

/* The stack id for a sample_key: NONE instead of an error. */
static inline __s64 stack_id_of(long id)
{
	return id >= 0 ? id : PILOTLIGHT_STACK_NONE;
}

/*
 * The build-id stack of a known stack. An id of an earlier window is no longer valid: the engine
 * has the answer already.
 */
static inline __s64 known_build_id_stack(const struct pilotlight_known_stack *known, __u32 window)
{
	return known->window == window ? known->build_id_stack : PILOTLIGHT_STACK_NONE;
}

/*
 * Each window has its own seed, so a stack has another hash in each. Therefore "this hash was sent"
 * or "was counted" holds for one window only.
 */
static inline __u64 walk_seed_of(__u64 seed, __u32 window)
{
	return seed + (window + 1ULL) * 0x9e3779b97f4a7c15ULL;
}

/* Does the stack id say all, because the stack is stored or there is none? */
static inline int stack_answer_is_in_maps(enum stack_answer answer)
{
	return answer == STACK_STORED || answer == STACK_ABSENT;
}

/* Must a sample with such a stack go through the ring? */
static inline int stack_answer_needs_ring(enum stack_answer answer)
{
	return answer == STACK_COLLIDED || answer == STACK_MAP_FULL;
}

/* The number of entries in `bytes` that bpf_get_stack() returned; 0 for an error. */
static inline __u32 stack_entries(long bytes, __u32 entry_bytes)
{
	if (bytes <= 0)
		return 0;
	bytes /= entry_bytes;
	return bytes > PILOTLIGHT_STACK_DEPTH ? PILOTLIGHT_STACK_DEPTH : (__u32)bytes;
}
