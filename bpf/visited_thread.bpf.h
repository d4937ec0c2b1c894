/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Samples of a thread that does not run, taken by an iterator over all threads: why it does not
 * run, and its stack, which is read from outside.
 */
#pragma once

#include "kernel_types.h"
#include "pilotlight/event.h"
#include "task.bpf.h"

#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

/* How many threads an iterator still visits before it pauses. */
volatile __u32 visits_left;

enum { GO_ON = 0, PAUSE = 1 }; /* PAUSE: the read fails with EAGAIN; the next begins here again */

enum {
	/* The kernel's states of a task. */
	STATE_INTERRUPTIBLE = 0x1,
	STATE_UNINTERRUPTIBLE = 0x2,
	STATE_STOPPED = 0x4 | 0x8, /* also by a tracer */
	STATE_DEAD = 0x80,
	STATE_WAKING = 0x200,
	STATE_NO_LOAD = 0x400,
	STATE_NEW = 0x800,
	REALTIME_PRIORITIES = 100, /* below: they have no quota, or another one */
};

/* Of the run queue on which the thread was last. */
static __always_inline __u64 run_queue_clock_ns(const struct task_struct *task)
{
	return task->se.cfs_rq->rq->clock;
}

/*
 * Is its group above its quota of CPU time? Until Linux 6.17 the group leaves the run queue at
 * once, with all its threads. Since then a thread goes on until it returns to user code, where it
 * is switched out.
 */
static __always_inline int is_throttled(const struct task_struct *task)
{
	if (bpf_core_field_exists(task->throttled))
		return task->throttled;
	if (!bpf_core_field_exists(task->se.cfs_rq->throttle_count))
		return 0;
	return task->prio >= REALTIME_PRIORITIES && task->se.cfs_rq->throttle_count > 0;
}

/* Why a thread in this state does not run. */
static __always_inline __u32 wait_of(const struct task_struct *task, __u32 state)
{
	if (state == 0)
		return is_throttled(task) ? PILOTLIGHT_WAIT_THROTTLED : PILOTLIGHT_WAIT_PREEMPTED;
	if (BPF_CORE_READ_BITFIELD(task, in_iowait))
		return PILOTLIGHT_WAIT_DISK;
	if (state & STATE_INTERRUPTIBLE)
		return PILOTLIGHT_WAIT_INTERRUPTIBLE;
	if (state & STATE_UNINTERRUPTIBLE)
		return state & STATE_NO_LOAD ? PILOTLIGHT_WAIT_IDLE
					     : PILOTLIGHT_WAIT_UNINTERRUPTIBLE;
	if (state & STATE_STOPPED)
		return PILOTLIGHT_WAIT_STOPPED;
	return PILOTLIGHT_WAIT_OTHER;
}

/*
 * Walks the user stack of a thread that does not run. If it runs meanwhile, the walk is worth
 * nothing. A thread of the kernel has no such stack.
 */
static __always_inline void walk_visited(
	struct walker *walker, struct task_struct *task, __u32 window)
{
	struct pilotlight_ring_walk *record = &walker->walk.record;
	__u64 arrived_ns = task->sched_info.last_arrival;
	int is_walked = wants_walks && walk_other_stack(walker, task, &record->process, window,
					       walk_seed_of(walk_seed, window));

	if (is_walked && !task->on_cpu && task->sched_info.last_arrival == arrived_ns)
		return;
	record->count = record->runtime_count = 0;
	record->has_context = 0;
	record->runtime_end = PILOTLIGHT_RUNTIME_NOT_WALKED;
	record->hash = 0;
	record->end = task->mm ? PILOTLIGHT_WALK_BLOCKED : PILOTLIGHT_WALK_ROOT;
}

static __always_inline void set_header(struct pilotlight_ring_walk *record,
	enum pilotlight_source source, __u32 wait, __u32 window)
{
	record->header = (struct pilotlight_ring_header){
		.kind = PILOTLIGHT_RING_WALKED_SAMPLE,
		.set = window & 1,
		.source = source,
		.wait = wait,
	};
	record->time_ns = bpf_ktime_get_ns();
	record->address = 0;
}

static __always_inline __u64 task_cgroup_id(struct task_struct *task)
{
	return bpf_core_field_exists(task->cgroups) ? BPF_CORE_READ(task, cgroups, dfl_cgrp, kn, id)
						    : 0;
}

/* Sends the record with so many words behind it, and counts its periods as stored or lost. */
static __always_inline int send_record(
	struct pilotlight_counters *counts, struct pilotlight_ring_walk *record, __u32 words)
{
	if (!send(record, sizeof(*record) + words * sizeof(__u64),
		    bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA))) {
		count(&counts->dropped[PILOTLIGHT_DROP_RING_FULL], record->periods);
		return 0;
	}
	count(&counts->stored[PILOTLIGHT_PATH_RING], record->periods);
	return 1;
}

/* Is it not recorded? Then its periods are counted as filtered. */
static __noinline int drop_filtered(
	struct task_struct *task, enum pilotlight_source source, __u32 periods)
{
	__u32 index = pilotlight_counters_index(source, active_window & 1);
	struct pilotlight_counters *counts;

	if (!is_task_filtered(task, tgid_of(task), VISITOR_ENTRY))
		return 0;
	counts = bpf_map_lookup_elem(&counters, &index);
	if (counts) {
		count(&counts->fired, periods);
		count(&counts->dropped[PILOTLIGHT_DROP_FILTERED], periods);
	}
	return 1;
}

/* Sends periods of a thread that does not run and is recorded. */
static __noinline void send_visited(
	struct task_struct *task, enum pilotlight_source source, __u32 wait, __u32 periods)
{
	__u32 window = active_window, entry = VISITOR_ENTRY, frames;
	__u32 index = pilotlight_counters_index(source, window & 1);
	struct pilotlight_counters *counts = bpf_map_lookup_elem(&counters, &index);
	struct walker *walker = bpf_map_lookup_elem(&walkers, &entry);
	struct pilotlight_ring_walk *record;
	long bytes = 0;

	if (!counts || !walker)
		return;
	count(&counts->fired, periods);
	record = &walker->walk.record;
	describe_task(task, &record->process, &record->tid);
	/* Before the walk, which Linux 6.1 would verify anew for each source and wait. */
	set_header(record, source, wait, window);
	walk_visited(walker, task, window);
	frames = record->count & PILOTLIGHT_WALK_DEPTH;
	if (wants_kernel)
		bytes = bpf_get_task_stack(task, &walker->walk.frames[frames],
			PILOTLIGHT_STACK_DEPTH * sizeof(__u64), 0);
	record->cgroup_id = task_cgroup_id(task);
	record->kernel_count = stack_entries(bytes, sizeof(__u64));
	bpf_core_read(record->comm, sizeof(record->comm), &task->comm);
	record->user = user_of(task);
	record->periods = periods;
	if (send_record(counts, record, frames + (record->kernel_count & PILOTLIGHT_STACK_DEPTH)) &&
		task->mm)
		note_walk(counts, walker, periods);
}
