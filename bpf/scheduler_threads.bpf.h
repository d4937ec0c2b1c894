/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What each thread has in its task storage while time off the CPU is sampled, and the bound of all
 * that (I4). The kernel allocates it for each thread, and frees it with the thread.
 *
 * A user's threads may have twice as many as are free (base/user_share.h). One that exceeds this
 * has none, and its waits are not sampled, until the next start. Such threads are counted as
 * PILOTLIGHT_EVENT_THREAD_REFUSED.
 *
 * A thread is counted by whoever first sets its `owner` to the present start: note_switch(),
 * begin_thread() or visit_threads(). So each is counted once, though the storage of threads
 * outlives a stop and a new start.
 */
#pragma once

#include "kernel_types.h"
#include "pilotlight/event.h"
#include "shared.bpf.h"
#include "source_period.bpf.h"
#include "task.bpf.h"
#include "wait.bpf.h"

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

/* A thread's storage has time of two sources, off the CPU and in the run queue. */
enum { OFF_CPU_SOURCES = 2 };

static __always_inline __u32 off_cpu_place(enum pilotlight_source source)
{
	return source - PILOTLIGHT_SOURCE_OFFCPU;
}

enum {
	OWNER_START_SHIFT = 16,
	USER_PLACE_BITS = 10,
	USER_PLACES = 1 << USER_PLACE_BITS,
};

/* Constant, set before loading. */
const volatile __u32 threads_max;

/* Of the present start, from 1 to 65535. What a thread's storage has of an earlier one means
 * nothing. */
volatile __u32 start_number SHARED;
/* Threads that have storage of the present start, and these by a hash of their users. */
volatile __u32 thread_count SHARED;
volatile __u32 user_threads[USER_PLACES] SHARED;

struct off_cpu {
	/* The time off the CPU since then is not accounted for. By the run queue's clock; 0: it
	 * runs. */
	__u64 since_ns;
	__u64 woken_ns;	    /* since then it waits for a CPU; 0: it was not woken yet */
	__u64 run_delay_ns; /* the part of the scheduler's run_delay that is accounted for */
	__s64 left_ns[OFF_CPU_SOURCES]; /* until the next sample; below 0: it is overdue */
	/* The start of all this, and below OWNER_START_SHIFT the user's place; 0: nothing is set.
	 */
	__u32 owner;
	__u8 wait : 7;	    /* enum pilotlight_wait, if it does not run */
	__u8 has_waker : 1; /* the stack was sent of who ended that wait */
	__u8 ready_wait; /* ... once it is ready; PILOTLIGHT_WAIT_NONE: it was not switched out yet
			  */
	__u8 intervals[OFF_CPU_SOURCES]; /* from sample to sample, in periods, less 1 */
};
/* With 72 bytes of the kernel's and 8 of its allocator's it just takes 128. */
_Static_assert(sizeof(struct off_cpu) == 48, "see map_sizes.c");

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct off_cpu);
} off_cpus SEC(".maps");

/* Is it of the present start? */
static __always_inline int is_begun(const struct off_cpu *off_cpu)
{
	return off_cpu->owner >> OWNER_START_SHIFT == start_number;
}

/* Where the user of a thread is counted; users may share a place. */
static __always_inline __u32 user_place(struct task_struct *task)
{
	return (user_of(task) * 0x9e3779b1U) >> (32 - USER_PLACE_BITS);
}

static __always_inline void release_thread(__u32 place)
{
	__sync_fetch_and_add(&user_threads[place & (USER_PLACES - 1)], -1U);
	__sync_fetch_and_add(&thread_count, -1U);
}

/* Returns 0 if the user has enough. */
static __always_inline int reserve_thread(__u32 place)
{
	__u32 held = __sync_fetch_and_add(&user_threads[place & (USER_PLACES - 1)], 1);
	__u32 all = __sync_fetch_and_add(&thread_count, 1);

	if (all < threads_max && held / 2 < threads_max - all)
		return 1;
	release_thread(place);
	return 0;
}

static __always_inline __u32 owner_of(__u32 place)
{
	return start_number << OWNER_START_SHIFT | place;
}

static __always_inline void add_thread(__u32 place)
{
	__sync_fetch_and_add(&user_threads[place & (USER_PLACES - 1)], 1);
	__sync_fetch_and_add(&thread_count, 1);
}

/* Begins a thread that has storage of an earlier start, unless another program has done so since
 * `owner` was read. All else of `off_cpu` must be set. */
static __always_inline void adopt_thread(
	struct off_cpu *off_cpu, __u32 owner, struct task_struct *task)
{
	__u32 place = user_place(task);

	if (__sync_val_compare_and_swap(&off_cpu->owner, owner, owner_of(place)) == owner)
		add_thread(place);
}

/* The storage of a thread that the caller begins; it counts already. Returns NULL if there is no
 * room. */
static __always_inline struct off_cpu *create_off_cpu(struct task_struct *task, __u32 place)
{
	struct off_cpu *off_cpu = bpf_task_storage_get(&off_cpus, task, 0, 0);

	/* Storage of an earlier start takes its memory in any case. */
	if (off_cpu) {
		add_thread(place);
		return off_cpu;
	}
	if (!reserve_thread(place))
		return 0;
	off_cpu = bpf_task_storage_get(&off_cpus, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!off_cpu)
		release_thread(place);
	return off_cpu;
}

/* Was it ready all the time that it did not run? */
static __always_inline int is_ready_wait(__u32 wait)
{
	return wait == PILOTLIGHT_WAIT_PREEMPTED || wait == PILOTLIGHT_WAIT_THROTTLED;
}

static __always_inline void set_wait(
	struct off_cpu *off_cpu, const struct task_struct *task, __u32 state)
{
	__u32 wait = wait_of(task, state);

	off_cpu->wait = wait;
	off_cpu->ready_wait = is_ready_wait(wait) ? wait : PILOTLIGHT_WAIT_WOKEN;
	off_cpu->woken_ns = 0;
	off_cpu->has_waker = 0;
}

static __always_inline int is_new(const struct off_cpu *off_cpu)
{
	return off_cpu->ready_wait == PILOTLIGHT_WAIT_NONE;
}

/* The source that counts what these programs do for both. */
static __always_inline enum pilotlight_source common_source(void)
{
	return source_periods[PILOTLIGHT_SOURCE_OFFCPU] ? PILOTLIGHT_SOURCE_OFFCPU
							: PILOTLIGHT_SOURCE_RUNQUEUE;
}

/* No room, or no memory, for what a thread needs: its waits are not sampled. */
static __always_inline void note_refused_thread(void)
{
	__u32 index = pilotlight_counters_index(common_source(), active_window & 1);
	struct pilotlight_counters *counts = bpf_map_lookup_elem(&counters, &index);

	if (counts)
		count(&counts->events[PILOTLIGHT_EVENT_THREAD_REFUSED], 1);
}

/* A random part of the time, and not 0. */
static __always_inline __s64 first_phase(__u64 ns)
{
	__u64 random = (__u64)bpf_get_prandom_u32() << 32 | bpf_get_prandom_u32();

	return ns ? (__s64)(random % ns) + 1 : 0;
}

static __always_inline void set_interval(
	struct off_cpu *off_cpu, enum pilotlight_source source, __u32 interval)
{
	off_cpu->intervals[off_cpu_place(source)] = interval - 1;
	off_cpu->left_ns[off_cpu_place(source)] = first_phase(source_periods[source] * interval);
}

/* Sets all but when and why it was switched out, and the owner, which must come last. */
static __always_inline void init_off_cpu(struct off_cpu *off_cpu, __u64 run_delay_ns)
{
	off_cpu->run_delay_ns = run_delay_ns;
	set_interval(off_cpu, PILOTLIGHT_SOURCE_OFFCPU, interval_of(PILOTLIGHT_SOURCE_OFFCPU));
	set_interval(off_cpu, PILOTLIGHT_SOURCE_RUNQUEUE, interval_of(PILOTLIGHT_SOURCE_RUNQUEUE));
}
