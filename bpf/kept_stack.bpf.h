/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Takes the current thread's stacks in a bounded form, for a record that is kept, or that goes with
 * a sample of another thread. A user stack that is longer loses its outer frames.
 */
#pragma once

#include "kernel_types.h"
#include "pilotlight/event.h"
#include "task.bpf.h"

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

/* One less than powers of two. */
enum { KEPT_USER_FRAMES = 127, KEPT_KERNEL_FRAMES = 63 };

/* Puts both stacks, without frames of interpreters, into the CPU's walker, whose record has the
 * process. */
static __always_inline void take_kept_stack(void *ctx, struct walker *walker, __u32 window)
{
	struct pilotlight_ring_walk *record = &walker->walk.record;
	enum walk_result result = WALK_BY_KERNEL;
	__u32 count;
	long bytes;

	if (wants_walks && has_user_mappings() && read_task_registers(&walker->walk))
		result = walk_user_stack(
			walker, &record->process, window, walk_seed_of(walk_seed, window));
	if (result != WALK_DONE) {
		bytes = result == WALK_BY_KERNEL && bpf_get_current_task_btf()->mm
				? bpf_get_stack(ctx, walker->walk.frames,
					  KEPT_USER_FRAMES * sizeof(__u64), USER_STACK)
				: 0;
		record->count = stack_entries(bytes, sizeof(__u64));
		record->hash = 0;
		record->end = PILOTLIGHT_WALK_ROOT;
	}
	if (record->count > KEPT_USER_FRAMES) {
		record->count = KEPT_USER_FRAMES;
		record->end = PILOTLIGHT_WALK_DEEP;
		record->hash = 0;
	}
	/* The compiler knows that already, but the verifier does not. */
	count = record->count;
	barrier_var(count);
	count &= KEPT_USER_FRAMES;
	bytes = wants_kernel ? bpf_get_stack(ctx, &walker->walk.frames[count],
				       KEPT_KERNEL_FRAMES * sizeof(__u64), 0)
			     : 0;
	record->kernel_count = stack_entries(bytes, sizeof(__u64));
	record->runtime_count = 0;
	record->has_context = 0;
	record->runtime_end = PILOTLIGHT_RUNTIME_NOT_WALKED;
}
