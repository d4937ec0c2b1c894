/* SPDX-License-Identifier: GPL-2.0-only */
/* Why a thread does not run. */
#pragma once

#include "kernel_types.h"
#include "pilotlight/event.h"

#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

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
