/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Surveys: time off the CPU without a program at each switch of threads. At a random moment of each
 * survey period, survey_threads() visits all threads. A thread that is blocked then, or ready, gets
 * a sample that stands for the whole period. In expectation that is its time, and a switch costs
 * nothing.
 *
 *  1. A thread that has slept interruptibly for `idle_after_ns` is idle. One that hangs in the
 * kernel for as long, or is stopped, keeps its stack. Idle threads of a process are one sample
 * without a stack; those of the kernel count for the thread that is their parent. So thousands of
 * them cost no more than the visit. Nothing is kept for a thread: when it last ran follows from
 * what the scheduler keeps.
 *  2. A user's first threads get a sample each, and later ones every second, fourth, eighth, which
 *     then stands for as many (pace_shift()). So stacks are walked for a bounded number of threads,
 *     and the expectation stays right. The same, apart from them, for samples of idle threads: they
 *     are as many as processes, or as threads of two processes whose thread ids alternate.
 *  3. The survey itself takes a CPU from the thread that runs there, and lets those wait that wake
 *     meanwhile. They would count as waiting for a CPU in each survey, and are left out
 *     (is_held_up()).
 */
#pragma once

#include "pace.bpf.h"
#include "scheduler_threads.bpf.h"
#include "visited_thread.bpf.h"

#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

/* Constants, set before loading. */
const volatile __u32 surveyed_sources; /* bit mask of 1 << enum pilotlight_source */
const volatile __u64 idle_after_ns;

/* The periods that a sample of the present survey stands for. */
volatile __u32 survey_periods;
/*
 * What would have got a sample in the present survey: of all, and by a hash of users; of threads,
 * and apart from them of processes' idle ones, so that these take no samples from others.
 */
volatile __u32 surveyed_count[2];
volatile __u32 surveyed_users[2][USER_PLACES];
/* The process of `idle`, an address; 0: there is none. */
volatile __u64 idle_leader;

enum {
	/* Each of these gets a sample; of twice as many every second one, and so on. */
	SURVEYED_OF_USER = 128,
	SURVEYED_OF_ALL = 1024,
	/* The process that asks for a survey runs for less, before this one is woken. */
	SURVEY_LEAD_NS = 500000,
	KERNEL_THREAD =
		0x00200000, /* the kernel's PF_KTHREAD; a thread that exits has no mm either */
};

/* Idle threads of one process and cgroup that were visited one after another. */
static struct {
	__u64 cgroup; /* an address */
	struct pilotlight_process process;
	__u64 cgroup_id;
	__u32 tid; /* 0: there are several */
	__u32 user, threads;
	__u32 periods; /* that a thread's sample stands for; 0: they get none */
	__u32 is_filtered;
	char comm[PILOTLIGHT_COMM_BYTES];
} idle;

/* Asleep, a thread may still be queued since Linux 6.12. On its way to sleep it may be preempted.
 */
static __always_inline int is_ready(const struct task_struct *task, __u32 state)
{
	if (bpf_core_field_exists(task->se.sched_delayed) && task->se.sched_delayed)
		return 0;
	return state == 0 || state == STATE_WAKING || task->on_rq;
}

/* Has it become ready on this CPU since the survey runs here, or shortly before? */
static __always_inline int is_held_up(const struct task_struct *task)
{
	const struct task_struct *current = bpf_get_current_task_btf();

	return (__u64)task->se.cfs_rq->rq == (__u64)current->se.cfs_rq->rq &&
	       task->sched_info.last_queued + SURVEY_LEAD_NS >= current->sched_info.last_arrival;
}

/*
 * Has it slept for long, as one does that has nothing to do? The scheduler notes when it last
 * accounted for the thread's time on the CPU, by the run queue's clock_task. The clocks of a run
 * queue are both as old as its last event, so their difference tells the time by the other one, and
 * that is common to all CPUs.
 */
static __always_inline int is_idle(const struct task_struct *task, __u32 state)
{
	const struct rq *rq = task->se.cfs_rq->rq;
	__u64 ran_ns = task->se.exec_start, now = run_queue_clock_ns(bpf_get_current_task_btf());

	if (!ran_ns || !(state & (STATE_INTERRUPTIBLE | STATE_NO_LOAD)))
		return 0;
	ran_ns += rq->clock - rq->clock_task;
	return ran_ns < now && now - ran_ns > idle_after_ns;
}

static __always_inline struct pilotlight_counters *counters_of(enum pilotlight_source source)
{
	__u32 index = pilotlight_counters_index(source, active_window & 1);

	return bpf_map_lookup_elem(&counters, &index);
}

/* The periods that the sample of this thread, or of all idle ones of its process, stands for; 0: it
 * gets none, and others' stand for it. */
static __always_inline __u32 thin_out(struct task_struct *task, int is_idle)
{
	__u32 place = user_place(task) & (USER_PLACES - 1), random = bpf_get_prandom_u32();
	__u32 of_user = pace_shift(
		__sync_fetch_and_add(&surveyed_users[is_idle][place], 1), SURVEYED_OF_USER);
	__u32 of_all;

	if (random & ((1U << of_user) - 1))
		return 0;
	random >>= of_user;
	of_all = pace_shift(__sync_fetch_and_add(&surveyed_count[is_idle], 1), SURVEYED_OF_ALL);
	return random & ((1U << of_all) - 1) ? 0 : survey_periods << (of_user + of_all);
}

/* A sample of all idle threads that were visited since the last one. */
static __noinline void send_idle(void)
{
	__u32 entry = VISITOR_ENTRY, periods = idle.threads * idle.periods;
	struct pilotlight_counters *counts = counters_of(PILOTLIGHT_SOURCE_OFFCPU);
	struct walker *walker = bpf_map_lookup_elem(&walkers, &entry);
	struct pilotlight_ring_walk *record;

	idle_leader = 0;
	if (!counts || !walker || !periods)
		return;
	count(&counts->fired, periods);
	if (idle.is_filtered) {
		count(&counts->dropped[PILOTLIGHT_DROP_FILTERED], periods);
		return;
	}
	record = &walker->walk.record;
	__builtin_memset(record, 0, sizeof(*record));
	set_header(record, PILOTLIGHT_SOURCE_OFFCPU, PILOTLIGHT_WAIT_LONG, active_window);
	record->process = idle.process;
	record->cgroup_id = idle.cgroup_id;
	record->tid = idle.tid;
	record->user = idle.user;
	record->periods = periods;
	record->end = PILOTLIGHT_WALK_ROOT;
	record->runtime_end = PILOTLIGHT_RUNTIME_NOT_WALKED;
	__builtin_memcpy(record->comm, idle.comm, sizeof(record->comm));
	if (send_record(counts, record, 0))
		count(&counts->events[PILOTLIGHT_EVENT_SURVEYED], 1);
	if (idle.periods > survey_periods)
		count(&counts->events[PILOTLIGHT_EVENT_THINNED], 1);
}

static __noinline void add_idle(struct task_struct *task)
{
	const int is_kernel = (task->flags & KERNEL_THREAD) != 0;
	struct task_struct *leader = is_kernel ? task->real_parent : task->group_leader;
	__u64 cgroup = bpf_core_field_exists(task->cgroups)
			       ? (__u64)BPF_CORE_READ(task, cgroups, dfl_cgrp)
			       : 0;

	/* kthreadd's parent is the idle task. */
	if (leader->pid == 0)
		leader = task->group_leader;
	if (idle_leader == (__u64)leader && idle.cgroup == cgroup) {
		idle.threads++;
		idle.tid = 0;
		return;
	}
	if (idle_leader)
		send_idle();
	idle.threads = 1;
	describe_task(leader, &idle.process, &idle.tid);
	idle.tid = is_kernel ? 0 : pid_namespace_inum ? pid_in_namespace(task) : task->pid;
	idle.is_filtered = is_task_filtered(task, idle.process.tgid, VISITOR_ENTRY);
	idle.periods = idle.is_filtered ? survey_periods : thin_out(leader, 1);
	idle.cgroup_id = task_cgroup_id(task);
	idle.user = user_of(leader);
	bpf_core_read(idle.comm, sizeof(idle.comm), &leader->comm);
	idle.cgroup = cgroup;
	idle_leader = (__u64)leader;
}

static __always_inline int is_surveyed(enum pilotlight_source source)
{
	return surveyed_sources >> source & 1;
}

/* Returns the source of a sample of the thread; CPU time: none, since it runs, or counts as idle.
 */
static __always_inline enum pilotlight_source find_wait(struct task_struct *task, __u32 *ret_wait)
{
	__u32 state = task->__state;

	if (task->on_cpu || state & (STATE_DEAD | STATE_NEW))
		return PILOTLIGHT_SOURCE_CPU;
	if (is_ready(task, state)) {
		*ret_wait = is_throttled(task) ? PILOTLIGHT_WAIT_THROTTLED : PILOTLIGHT_WAIT_NONE;
		return is_held_up(task) ? PILOTLIGHT_SOURCE_CPU : PILOTLIGHT_SOURCE_RUNQUEUE;
	}
	*ret_wait = wait_of(task, state);
	if (!is_surveyed(PILOTLIGHT_SOURCE_OFFCPU) || !is_idle(task, state))
		return PILOTLIGHT_SOURCE_OFFCPU;
	add_idle(task);
	return PILOTLIGHT_SOURCE_CPU;
}

static __always_inline void survey_thread(struct task_struct *task)
{
	__u32 wait = PILOTLIGHT_WAIT_NONE, periods;
	enum pilotlight_source source = find_wait(task, &wait);
	struct pilotlight_counters *counts;
	__u64 begin_ns;

	/* Threads that are not recorded take no samples from others. */
	if (source == PILOTLIGHT_SOURCE_CPU || !is_surveyed(source) ||
		drop_filtered(task, source, survey_periods))
		return;
	counts = counters_of(source);
	if (!counts)
		return;
	begin_ns = bpf_ktime_get_ns();
	periods = thin_out(task, 0);
	if (!periods)
		return;
	count(&counts->events[PILOTLIGHT_EVENT_SURVEYED], 1);
	if (periods > survey_periods)
		count(&counts->events[PILOTLIGHT_EVENT_THINNED], 1);
	send_visited(task, source, wait, periods);
	count(&counts->run_ns, bpf_ktime_get_ns() - begin_ns);
}

SEC("?iter/task")
int survey_threads(struct bpf_iter__task *context)
{
	struct task_struct *task = context->task;

	/* The end. */
	if (!task) {
		if (idle_leader)
			send_idle();
		return GO_ON;
	}
	if (task->pid == 0 || task->exit_state)
		return GO_ON;
	if (visits_left == 0 || !has_room_to_spare(bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA)))
		return PAUSE;
	visits_left--;
	survey_thread(task);
	return GO_ON;
}
