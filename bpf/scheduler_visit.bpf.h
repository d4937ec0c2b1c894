/* SPDX-License-Identifier: GPL-2.0-only */
/* Visits all threads for scheduler.bpf.h, 4. */
#pragma once

#include "kernel_types.h"
#include "pilotlight/event.h"
#include "scheduler_threads.bpf.h"
#include "visited_thread.bpf.h"

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

/* 0: visit_threads() begins the sampling of all threads. Otherwise it takes the time of those that
 * have been blocked since before. CLOCK_MONOTONIC. */
volatile __u64 blocked_before_ns;

/*
 * Begins a thread, unless begin_thread() or note_switch() has begun it, or does so at this moment:
 * then note_switch() has set another time.
 */
static __always_inline void begin_visited(struct task_struct *task, __u64 now)
{
	struct off_cpu *off_cpu = bpf_task_storage_get(&off_cpus, task, 0, 0);
	__u32 place = user_place(task), owner;
	__u64 since_ns;

	if (off_cpu && is_begun(off_cpu))
		return;
	off_cpu = create_off_cpu(task, place);
	if (!off_cpu) {
		note_refused_thread();
		return;
	}
	since_ns = off_cpu->since_ns;
	owner = off_cpu->owner;
	if (owner >> OWNER_START_SHIFT == start_number) {
		release_thread(place);
		return;
	}
	init_off_cpu(off_cpu, task->sched_info.run_delay);
	set_wait(off_cpu, task, task->__state);
	__sync_val_compare_and_swap(&off_cpu->since_ns, since_ns, task->on_cpu ? 0 : now);
	if (__sync_val_compare_and_swap(&off_cpu->owner, owner, owner_of(place)) != owner)
		release_thread(place);
}

/*
 * Takes whole periods; the thread itself accounts for the rest. If it is just woken, it is left
 * alone, and if it was preempted on its way to sleep. The run queue's clock may be as old as the
 * last tick; then it takes less. Returns 0 if the ring has no room to spare: then nothing was
 * taken.
 */
static __always_inline int take_blocked(struct task_struct *task, __u64 now)
{
	__u64 before_ns = blocked_before_ns + (now - bpf_ktime_get_ns());
	struct off_cpu *off_cpu = bpf_task_storage_get(&off_cpus, task, 0, 0);
	__u64 period_ns = source_periods[PILOTLIGHT_SOURCE_OFFCPU], since_ns, periods, taken_ns;
	__u32 state = task->__state;

	/* There may be room now. */
	if (!off_cpu)
		begin_visited(task, now);
	if (!off_cpu || !is_begun(off_cpu) || !period_ns || task->on_cpu)
		return 1;
	if (state == 0 || state & (STATE_WAKING | STATE_NEW | STATE_DEAD) ||
		is_ready_wait(off_cpu->wait))
		return 1;
	since_ns = off_cpu->since_ns;
	if (since_ns == 0 || since_ns >= before_ns || since_ns >= now)
		return 1;
	periods = (now - since_ns) / period_ns;
	if (periods > ~0U)
		periods = ~0U;
	if (periods == 0)
		return 1;
	if (!has_room_to_spare(bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA)))
		return 0;
	taken_ns = since_ns + periods * period_ns;
	if (__sync_val_compare_and_swap(&off_cpu->since_ns, since_ns, taken_ns) == since_ns &&
		!drop_filtered(task, PILOTLIGHT_SOURCE_OFFCPU, (__u32)periods))
		send_visited(task, PILOTLIGHT_SOURCE_OFFCPU, off_cpu->wait, (__u32)periods);
	return 1;
}

SEC("iter/task")
int visit_threads(struct bpf_iter__task *context)
{
	struct task_struct *task = context->task;
	__u64 now = run_queue_clock_ns(bpf_get_current_task_btf());

	if (!task || task->pid == 0 || task->exit_state)
		return GO_ON;
	if (!blocked_before_ns) {
		begin_visited(task, now);
		return GO_ON;
	}
	if (visits_left == 0 || !take_blocked(task, now))
		return PAUSE;
	visits_left--;
	return GO_ON;
}
