/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Sends the stack of the thread that wakes a blocked one, but only if that wait will be sampled.
 *
 *  1. note_waker() runs in the thread that wakes another, before the other gets a CPU. If the
 *     other's time blocked has reached what is left until its next sample, it sends the stack of
 *     the current thread, and marks the other's wait.
 *  2. account_time() takes the sample of a marked wait with the woken thread's address, under which
 *     the waker was sent. By that the engine joins both.
 *
 * A wait that is not blocked long enough by a few microseconds may get a sample without a waker:
 * the time until now is estimated, since no run queue's clock may be read here.
 */
#pragma once

#include "amount.bpf.h"
#include "kept_stack.bpf.h"
#include "kernel_types.h"
#include "pilotlight/event.h"
#include "scheduler.bpf.h"
#include "task.bpf.h"
#include "watch.bpf.h"

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

/* A waker that is not of a chosen cgroup stays unknown. */
static __always_inline int is_waker_chosen(void)
{
	const struct cgroup *cgroup;

	if (!chooses_cgroups)
		return 1;
	cgroup = bpf_get_current_task_btf()->cgroups->dfl_cgrp;
	return is_chosen(cgroup, cgroup->self.serial_nr, 1);
}

/* Sends the current thread's stacks as those of the waker of a thread. Returns 0 if that is not
 * possible now. */
static __noinline int send_waker(void *ctx, __u64 woken)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 window = active_window, entry = 1, zero = 0, frames;
	struct walker *walker = bpf_map_lookup_elem(&walkers, &entry);
	struct amount_cpu *cpu = bpf_map_lookup_elem(&amount_cpus, &zero);
	struct pilotlight_ring_walk *record;
	__u64 waiting_bytes = bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA);
	int is_sent = 0;

	if (!walker || !cpu || !has_room_to_spare(waiting_bytes) ||
		__sync_lock_test_and_set(&cpu->is_sampling, 1))
		return 0;
	record = &walker->walk.record;
	describe_task(task, &record->process, &record->tid);
	if (is_waker_chosen()) {
		take_kept_stack(ctx, walker, window);
		record->header = (struct pilotlight_ring_header){
			.kind = PILOTLIGHT_RING_WAKER,
			.set = window & 1,
			.source = PILOTLIGHT_SOURCE_OFFCPU,
		};
		record->time_ns = bpf_ktime_get_ns();
		record->cgroup_id = cgroup_id_of(task, walker);
		bpf_get_current_comm(record->comm, sizeof(record->comm));
		record->user = user_of(task);
		record->periods = 1;
		record->address = woken;
		frames = (record->count & KEPT_USER_FRAMES) +
			 (record->kernel_count & KEPT_KERNEL_FRAMES);
		is_sent = send(record, sizeof(*record) + frames * sizeof(__u64), waiting_bytes);
	}
	__sync_lock_test_and_set(&cpu->is_sampling, 0);
	return is_sent;
}

static __always_inline void note_refused_waker(void)
{
	__u32 index = pilotlight_counters_index(PILOTLIGHT_SOURCE_OFFCPU, active_window & 1);
	struct pilotlight_counters *counts = bpf_map_lookup_elem(&counters, &index);

	if (counts)
		count(&counts->events[PILOTLIGHT_EVENT_WAKER_REFUSED], 1);
}

/* Will a sample be taken of the wait that ends now? */
static __always_inline int is_sample_due(const struct off_cpu *off_cpu, __u64 now)
{
	__u64 since_ns = off_cpu->since_ns, now_ns = now + clock_ahead_ns;
	__s64 left_ns = off_cpu->left_ns[off_cpu_place(PILOTLIGHT_SOURCE_OFFCPU)];

	if (!since_ns || now_ns < since_ns || off_cpu->woken_ns || is_ready_wait(off_cpu->wait))
		return 0;
	return left_ns <= (__s64)(now_ns - since_ns);
}

SEC("?tp_btf/sched_waking")
int BPF_PROG(note_waker, struct task_struct *task)
{
	struct off_cpu *off_cpu = bpf_task_storage_get(&off_cpus, task, 0, 0);
	__u64 begin_ns;

	if (!off_cpu || !is_begun(off_cpu) || is_new(off_cpu))
		return 0;
	begin_ns = bpf_ktime_get_ns();
	if (!clock_ahead_ns || !is_sample_due(off_cpu, begin_ns))
		return 0;
	if (send_waker(ctx, (__u64)task))
		off_cpu->has_waker = 1;
	else
		note_refused_waker();
	return 0;
}
