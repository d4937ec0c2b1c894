/* SPDX-License-Identifier: GPL-2.0-only */
/* Whose code objects are known, and how long: see runtime_copy.bpf.h. */
#pragma once

#include "runtime_known.bpf.h"
#include "shared.bpf.h"
#include "walker.bpf.h"

enum {
	RUNTIME_PERIOD_SHIFT = 30, /* ns: some 1.1 s */
	RUNTIME_EPOCH_SHIFT = 36,  /* ns: some 69 s */
};

/* The host changes it for each engine, which knows no code yet. */
volatile __u32 runtime_generation SHARED;

/* The epoch of what has this hash. */
static __always_inline __u64 runtime_epoch(const struct walker *walker, __u64 hash)
{
	__u64 time = walker->runtime.begin_ns + (hash >> (64 - RUNTIME_EPOCH_SHIFT));

	return (__u64)runtime_generation << 32 | time >> RUNTIME_EPOCH_SHIFT;
}

/* Identifies the address space, and the user and cgroup, whose names are their own: a process that
 * changes them sends its names again. */
static __always_inline __u64 runtime_owner(const struct walker *walker)
{
	__u64 owner = runtime_hash(walker->mm, walker->process.start_ns);

	owner = runtime_hash(owner, (__u64)walker->process.exec_id << 32 | walker->process.tgid);
	owner = runtime_hash(owner, walked_user());
	return runtime_hash(owner, walker->cgroup_id);
}

/* The same with the epoch of the step's code object. */
static __always_inline __u64 runtime_step_owner(
	const struct walker *walker, const struct runtime_step *step)
{
	return runtime_hash(
		walker->runtime.owner, runtime_epoch(walker, runtime_hash(0, step->code)));
}

static __always_inline __u32 runtime_period(const struct walker *walker)
{
	return (__u32)(walker->runtime.begin_ns >> RUNTIME_PERIOD_SHIFT);
}
