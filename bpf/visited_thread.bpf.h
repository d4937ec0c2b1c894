/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Samples of a thread that does not run, taken by an iterator over all threads: why it does not
 * run, and its stack, which is read from outside.
 */
#pragma once

#include "kernel_types.h"
#include "other_memory.bpf.h"
#include "pilotlight/event.h"
#include "recorded_threads.bpf.h"
#include "runtime_sample.bpf.h"
#include "sending.bpf.h"
#include "task.bpf.h"
#include "wait.bpf.h"

#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

/* How many threads an iterator still visits before it pauses. */
volatile __u32 visits_left;

enum { GO_ON = 0, PAUSE = 1 }; /* PAUSE: the read fails with EAGAIN; the next begins here again */

static __always_inline __u64 task_cgroup_id(struct task_struct *task)
{
	return bpf_core_field_exists(task->cgroups) ? BPF_CORE_READ(task, cgroups, dfl_cgrp, kn, id)
						    : 0;
}

/* Walks the user stack of a thread that has user memory and does not run, with the frames of an
 * interpreter. Returns 0 if it cannot be walked. */
static __noinline int walk_visited(struct walker *walker, struct mm_struct *mm, __u32 window)
{
	if (!read_task_registers(&walker->walk) ||
		walk_stack_in(walker, mm, &walker->walk.record.process, window,
			walk_seed_of(walk_seed, window)) != WALK_DONE)
		return 0;
	add_runtime_frames(walker, VISITOR_ENTRY);
	return 1;
}

/* If the thread runs meanwhile, the walk is worth nothing. */
static __always_inline int can_walk_visited(
	struct walker *walker, struct task_struct *task, __u32 window)
{
	struct mm_struct *mm = task->mm;

	if (!wants_walks || !mm || !has_mapping_tree(mm) || !visit_memory(task))
		return 0;
	walker->cgroup_id = task_cgroup_id(task);
	if (!walk_visited(walker, mm, window))
		return 0;
	if (!has_walked_thread_run() && task->mm == mm)
		return 1;
	/* The thread ran: forget the mappings that this walk noted, too. */
	walker->mm = 0;
	return 0;
}

static __always_inline void take_visited_stack(
	struct walker *walker, struct task_struct *task, __u32 window)
{
	struct pilotlight_ring_walk *record = &walker->walk.record;

	if (can_walk_visited(walker, task, window))
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

/* Before the walk. A function of its own, like finish_visited_sample(): that bounds the use of the
 * BPF stack. What the sample is goes into the record: Linux 6.1 would verify the walk anew for each
 * value of a variable that is used behind it. */
static __noinline struct walker *begin_visited_sample(struct task_struct *task,
	enum pilotlight_source source, __u32 wait, __u32 periods, __u32 window)
{
	__u32 entry = VISITOR_ENTRY;
	struct walker *walker = bpf_map_lookup_elem(&walkers, &entry);

	if (!walker)
		return 0;
	describe_task(task, &walker->walk.record.process, &walker->walk.record.tid);
	set_header(&walker->walk.record, source, wait, window);
	walker->walk.record.periods = periods;
	return walker;
}

static __noinline void finish_visited_sample(struct walker *walker, struct task_struct *task)
{
	struct pilotlight_ring_walk *record = &walker->walk.record;
	__u32 index = pilotlight_counters_index(record->header.source, record->header.set), frames;
	struct pilotlight_counters *counts = bpf_map_lookup_elem(&counters, &index);
	long bytes = 0;

	if (!counts)
		return;
	count(&counts->fired, record->periods);
	frames = walk_words(record);
	if (wants_kernel)
		bytes = bpf_get_task_stack(task, &walker->walk.frames[frames],
			PILOTLIGHT_STACK_DEPTH * sizeof(__u64), 0);
	record->cgroup_id = task_cgroup_id(task);
	record->kernel_count = stack_entries(bytes, sizeof(__u64));
	bpf_core_read(record->comm, sizeof(record->comm), &task->comm);
	record->user = user_of(task);
	if (send_record(counts, record, frames + (record->kernel_count & PILOTLIGHT_STACK_DEPTH)) &&
		task->mm)
		note_walk(counts, walker, record->periods);
}

/* Sends periods of a thread that does not run and is recorded. */
static __always_inline void send_visited(
	struct task_struct *task, enum pilotlight_source source, __u32 wait, __u32 periods)
{
	__u32 window = active_window;
	struct walker *walker = begin_visited_sample(task, source, wait, periods, window);

	if (!walker)
		return;
	take_visited_stack(walker, task, window);
	finish_visited_sample(walker, task);
}
