/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Samples of time off the CPU: blocked, or ready and waiting for a CPU. Each thread's time adds up
 * in its task storage. Each time that the sum crosses a multiple of the source's period, one sample
 * of all periods crossed is taken, by the thread itself, as soon as it runs again: its stacks are
 * still those with which it was switched out. A random first phase makes the sums of threads right
 * in expectation that live for less than a period.
 *
 *  1. note_switch() notes when a thread is switched out. The run queue's lock is held, so it does
 *     no more than that. It allocates nothing: the allocator may wake a thread.
 *  2. note_wakeup() notes since when a blocked thread waits for a CPU. The scheduler's own
 *     run_delay says the same, but since delayed dequeueing (Linux 6.12) it may count a whole
 *     sleep: of 300 processes that slept for 1.5 s on a busy machine, 22. account_switch() runs in
 *     the next thread, behind the switch, and accounts for both parts.
 *  3. A new thread does not come by account_switch() when it runs for the first time.
 *     begin_thread() marks it, and note_switch() adds what it waited until then.
 *     A thread that ends takes what is due.
 *  4. visit_threads() of scheduler_visit.bpf.h goes over all threads: once note_switch() is
 *     attached, to note which are off the CPU; and at a window's end, to take whole periods of
 *     threads that have been blocked since before it. It pauses while the ring has no room
 *     to spare, so it neither loses that time nor takes the room of other samples. Its reader
 *     drains the ring and reads on.
 *
 * The times are those of the run queue's clock, by which the scheduler itself accounts for a
 * thread's time on the CPU and in run queues. So the three sources add up to the wall time. The
 * clock of a switch is up to some microseconds older than the switch, and the scheduler's reading
 * of it costs nothing.
 */
#pragma once

#include "amount.bpf.h"
#include "kernel_types.h"
#include "pilotlight/event.h"
#include "scheduler_threads.bpf.h"
#include "watch.bpf.h"

#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

/* Constants, set before loading. */
const volatile __u8 tells_previous_state; /* sched_switch has it as argument, since 5.18 */
const volatile __u8 wants_wakers;	  /* wakers.bpf.h */

/* How far run queues' clocks are ahead of CLOCK_MONOTONIC, as of one of the last switches; 0: not
 * known yet. */
volatile __u64 clock_ahead_ns;

/* The number of periods that a sample stands for after `ns` more of the source; 0: none is due. */
static __always_inline __u32 periods_of(
	struct off_cpu *off_cpu, enum pilotlight_source source, __u64 ns)
{
	__u32 place = off_cpu_place(source);
	__u64 interval = off_cpu->intervals[place] + 1ULL;
	__u64 interval_ns = source_periods[source] * interval;
	__s64 left_ns = off_cpu->left_ns[place] - (__s64)ns;
	__u64 times = 0;

	if (!interval_ns)
		return 0;
	if (left_ns <= 0) {
		times = (__u64)-left_ns / interval_ns + 1;
		/* The rest comes with the next sample. */
		if (times > ~0U / interval)
			times = ~0U / interval;
		left_ns += (__s64)(times * interval_ns);
	}
	off_cpu->left_ns[place] = left_ns;
	if (interval != interval_of(source))
		set_interval(off_cpu, source, interval_of(source));
	return (__u32)(times * interval);
}

/* Time off the CPU that ended when the thread was last switched in. */
struct ended {
	__u64 blocked_ns, queued_ns;
};

/* Takes it out of the thread's storage. From then on visit_threads() leaves the thread alone. */
static __always_inline void end_off_cpu(
	struct off_cpu *off_cpu, const struct task_struct *task, struct ended *ended)
{
	__u64 since_ns = __sync_lock_test_and_set(&off_cpu->since_ns, 0);
	__u64 arrived_ns = task->sched_info.last_arrival, run_delay_ns = task->sched_info.run_delay;
	__u64 off_ns, queued_ns = run_delay_ns - off_cpu->run_delay_ns,
		      woken_ns = off_cpu->woken_ns;

	if (!since_ns)
		return;
	off_cpu->run_delay_ns = run_delay_ns;
	/* It may have gone to a CPU whose clock is late. */
	off_ns = arrived_ns > since_ns ? arrived_ns - since_ns : 0;
	if (is_ready_wait(off_cpu->wait))
		queued_ns = off_ns;
	else if (woken_ns)
		queued_ns = arrived_ns > woken_ns ? arrived_ns - woken_ns : 0;
	if (queued_ns > off_ns)
		queued_ns = off_ns;
	ended->blocked_ns = off_ns - queued_ns;
	ended->queued_ns = queued_ns;
}

/* Samples the current thread's time blocked. The address joins it with the record of the waker. */
static __always_inline void sample_blocked(void *ctx, const struct off_cpu *off_cpu, __u32 periods)
{
	struct occasion occasion = {
		.source = PILOTLIGHT_SOURCE_OFFCPU,
		.skipped = SKIP_TO_SCHEDULE,
		.periods = periods,
		.wait = off_cpu->wait,
	};

	if (wants_wakers && off_cpu->has_waker)
		occasion.address = (__u64)bpf_get_current_task_btf();
	take_sample(ctx, &occasion);
}

/* The current thread was switched in. */
static __always_inline void account_time(void *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct ended ended = { 0 };
	struct off_cpu *off_cpu;
	__u32 blocked, queued;
	__u64 begin_ns;

	if (task->pid == 0)
		return;
	begin_ns = watch_begin();
	off_cpu = bpf_task_storage_get(&off_cpus, task, 0, 0);
	if (!off_cpu || !is_begun(off_cpu) || is_new(off_cpu))
		return;
	end_off_cpu(off_cpu, task, &ended);
	blocked = periods_of(off_cpu, PILOTLIGHT_SOURCE_OFFCPU, ended.blocked_ns);
	queued = periods_of(off_cpu, PILOTLIGHT_SOURCE_RUNQUEUE, ended.queued_ns);
	watch_end(common_source(), begin_ns);
	if (blocked)
		sample_blocked(ctx, off_cpu, blocked);
	if (queued)
		sample_current(ctx, PILOTLIGHT_SOURCE_RUNQUEUE, off_cpu->ready_wait, queued,
			SKIP_TO_SCHEDULE);
}

/* Before a switch: adds what account_time() has not seen. */
static __always_inline void account_unseen(struct off_cpu *off_cpu, const struct task_struct *task)
{
	struct ended ended = { 0 };

	end_off_cpu(off_cpu, task, &ended);
	off_cpu->left_ns[off_cpu_place(PILOTLIGHT_SOURCE_OFFCPU)] -= (__s64)ended.blocked_ns;
	off_cpu->left_ns[off_cpu_place(PILOTLIGHT_SOURCE_RUNQUEUE)] -= (__s64)ended.queued_ns;
}

/* A new thread's time in the run queue until it first ran. */
static __always_inline __u64 first_delay_ns(struct off_cpu *off_cpu, struct task_struct *task)
{
	return off_cpu->run_delay_ns = task->sched_info.run_delay;
}

/* A thread in this state is switched out. */
static __always_inline void note_switched(struct task_struct *previous, __u32 state)
{
	struct off_cpu *off_cpu = bpf_task_storage_get(&off_cpus, previous, 0, 0);
	__u32 owner;

	if (!off_cpu)
		return;
	owner = off_cpu->owner;
	if (!is_begun(off_cpu))
		init_off_cpu(off_cpu, previous->sched_info.run_delay);
	else if (is_new(off_cpu))
		off_cpu->left_ns[off_cpu_place(PILOTLIGHT_SOURCE_RUNQUEUE)] -=
			(__s64)first_delay_ns(off_cpu, previous);
	else if (off_cpu->since_ns)
		account_unseen(off_cpu, previous);
	set_wait(off_cpu, previous, state);
	off_cpu->since_ns = run_queue_clock_ns(previous);
	if (!is_begun(off_cpu))
		adopt_thread(off_cpu, owner, previous);
}

/* Its arguments: is it preempted, the previous and the next thread, the previous one's state. */
SEC("tp_btf/sched_switch")
int note_switch(__u64 *ctx)
{
	struct task_struct *previous = (struct task_struct *)ctx[1];
	__u64 begin_ns;
	__u32 state = 0;

	if (!ctx[0])
		state = tells_previous_state ? (__u32)ctx[3] : previous->__state;
	if (previous->pid == 0 || state & STATE_DEAD)
		return 0;
	begin_ns = watch_begin();
	note_switched(previous, state);
	if (wants_wakers && begin_ns)
		clock_ahead_ns = run_queue_clock_ns(previous) - begin_ns;
	watch_end(common_source(), begin_ns);
	return 0;
}

/* The run queue that the thread goes to is locked, and its clock is of this moment. */
SEC("tp_btf/sched_wakeup")
int BPF_PROG(note_wakeup, struct task_struct *task)
{
	__u64 begin_ns = watch_begin();
	struct off_cpu *off_cpu = bpf_task_storage_get(&off_cpus, task, 0, 0);

	if (off_cpu && off_cpu->since_ns && !off_cpu->woken_ns) {
		off_cpu->woken_ns = run_queue_clock_ns(task);
		if (!is_ready_wait(off_cpu->wait) && is_throttled(task))
			off_cpu->ready_wait = PILOTLIGHT_WAIT_THROTTLED;
	}
	watch_end(common_source(), begin_ns);
	return 0;
}

/* Since 6.16. Without an actual switch the thread went on. */
SEC("?tp_btf/sched_exit_tp")
int BPF_PROG(account_switch, int is_switch)
{
	if (is_switch)
		account_time(ctx);
	return 0;
}

/* In older kernels. A thread that the kernel preempts in its own code does not return from
 * schedule(): its time is taken with that of the next wait. */
SEC("?fexit/schedule")
int account_schedule(void *ctx)
{
	account_time(ctx);
	return 0;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(begin_thread, struct task_struct *parent, struct task_struct *child)
{
	__u64 begin_ns = watch_begin();
	__u32 place = user_place(child);
	struct off_cpu *off_cpu = create_off_cpu(child, place);

	if (off_cpu) {
		init_off_cpu(off_cpu, 0);
		off_cpu->ready_wait = PILOTLIGHT_WAIT_NONE;
		off_cpu->owner = owner_of(place);
	} else {
		note_refused_thread();
	}
	watch_end(common_source(), begin_ns);
	return 0;
}

/* Takes what the thread has not taken yet: it may end without being switched out, or after a switch
 * that account_time() has not seen. */
SEC("tp_btf/sched_process_exit")
int BPF_PROG(end_thread, struct task_struct *task)
{
	struct off_cpu *off_cpu = bpf_task_storage_get(&off_cpus, task, 0, 0);
	__u32 blocked, queued;

	if (!off_cpu || !is_begun(off_cpu))
		return 0;
	if (is_new(off_cpu))
		off_cpu->left_ns[off_cpu_place(PILOTLIGHT_SOURCE_RUNQUEUE)] -=
			(__s64)first_delay_ns(off_cpu, task);
	else
		account_unseen(off_cpu, task);
	blocked = periods_of(off_cpu, PILOTLIGHT_SOURCE_OFFCPU, 0);
	queued = periods_of(off_cpu, PILOTLIGHT_SOURCE_RUNQUEUE, 0);
	if (blocked)
		sample_current(ctx, PILOTLIGHT_SOURCE_OFFCPU, off_cpu->wait, blocked, SKIP_NOTHING);
	if (queued)
		sample_current(ctx, PILOTLIGHT_SOURCE_RUNQUEUE,
			is_new(off_cpu) ? PILOTLIGHT_WAIT_WOKEN : off_cpu->ready_wait, queued,
			SKIP_NOTHING);
	return 0;
}

/* The kernel is about to free the thread. */
SEC("tp_btf/sched_process_free")
int BPF_PROG(forget_thread, struct task_struct *task)
{
	struct off_cpu *off_cpu = bpf_task_storage_get(&off_cpus, task, 0, 0);
	__u32 owner;

	if (!off_cpu)
		return 0;
	owner = __sync_lock_test_and_set(&off_cpu->owner, 0);
	if (owner >> OWNER_START_SHIFT == start_number)
		release_thread(owner & (USER_PLACES - 1));
	return 0;
}
