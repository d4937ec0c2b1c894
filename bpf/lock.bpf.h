/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Time that threads wait for locks: for the kernel's between the tracepoints contention_begin and
 * contention_end, for the user's while they sleep in a system call that waits for a futex, until
 * they run again. A lock that is free costs nothing. The waiter takes the sample as soon as it has
 * the lock, so its stacks say where it waited.
 *
 *  1. A thread sleeps for one lock at a time. lock_waits has since when, by thread. It is bounded
 *     (I4); a wait that has no room is not sampled, and counted.
 *  2. A thread that spins stays on its CPU, but an interrupt may spin meanwhile: each CPU has a
 *     small stack of spin locks.
 *  3. At contention_end this CPU holds the lock. If it is one of our own maps', taking a sample
 *     would wait for it for ever, unless the kernel's spin locks in BPF detect that (rqspinlock).
 *     Older kernels' spin locks are not sampled, nor anything while a sample is being taken.
 */
#pragma once

#include "amount.bpf.h"
#include "kernel_types.h"
#include "pilotlight/event.h"
#include "scheduler.bpf.h"
#include "watch.bpf.h"

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

enum {
	/* The kernel's LCB_F_*, of contention_begin. */
	LOCK_SPIN = 1 << 0,
	LOCK_READ = 1 << 1,
	LOCK_WRITE = 1 << 2,
	LOCK_RT = 1 << 3,
	LOCK_PERCPU = 1 << 4,
	LOCK_MUTEX = 1 << 5, /* with LOCK_SPIN while it hopes to get it soon */
	/* Of a thread, a software interrupt, a hardware interrupt, and one to spare. */
	SPINS_MAX = 4,
	LOCK_WAITS_MAX = 8192,
	/* x86-64. */
	SYSTEM_CALL_FUTEX = 202,
	SYSTEM_CALL_FUTEX_WAITV = 449,
	SYSTEM_CALL_FUTEX_WAIT = 455,
};

/* Constant, set before loading. */
const volatile __u8 samples_spin_locks;

/* What was noted before then means nothing: its end may have been missed. CLOCK_MONOTONIC. */
volatile __u64 locks_since_ns;

struct lock_wait {
	__u64 lock; /* its address; 0: a futex */
	__u64 since_ns;
	__u32 kind;	   /* enum pilotlight_wait */
	__u32 is_spinning; /* for a mutex, for which it will sleep next */
};

/* By the address of the thread's task_struct. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, LOCK_WAITS_MAX);
	__type(key, __u64);
	__type(value, struct lock_wait);
} lock_waits SEC(".maps");

struct spin_waits {
	__u64 depth;
	struct lock_wait waits[SPINS_MAX];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct spin_waits);
} spin_waits SEC(".maps");

static __always_inline __u32 lock_kind(__u32 flags)
{
	if (flags & LOCK_MUTEX)
		return PILOTLIGHT_WAIT_MUTEX;
	if (flags & LOCK_RT)
		return PILOTLIGHT_WAIT_RT_MUTEX;
	if (flags & LOCK_PERCPU)
		return PILOTLIGHT_WAIT_PERCPU_RWSEM;
	if (flags & LOCK_SPIN)
		return flags & (LOCK_READ | LOCK_WRITE) ? PILOTLIGHT_WAIT_RWLOCK
							: PILOTLIGHT_WAIT_SPINLOCK;
	if (flags & LOCK_READ)
		return PILOTLIGHT_WAIT_RWSEM_READ;
	return flags & LOCK_WRITE ? PILOTLIGHT_WAIT_RWSEM_WRITE : PILOTLIGHT_WAIT_SEMAPHORE;
}

static __always_inline struct spin_waits *this_cpu_spins(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&spin_waits, &zero);
}

static __always_inline int is_sampling_here(void)
{
	__u32 zero = 0;
	struct amount_cpu *cpu = bpf_map_lookup_elem(&amount_cpus, &zero);

	return !cpu || cpu->is_sampling;
}

static __always_inline void begin_spin(__u64 lock, __u32 kind)
{
	struct spin_waits *spins = this_cpu_spins();

	if (!spins)
		return;
	/* An end was missed. */
	if (spins->depth >= SPINS_MAX)
		spins->depth = 0;
	spins->waits[spins->depth & (SPINS_MAX - 1)] = (struct lock_wait){
		.lock = lock,
		.since_ns = bpf_ktime_get_ns(),
		.kind = kind,
	};
	spins->depth++;
}

/* Begins a wait of the current thread. That for a mutex begins with a spin, and again with a sleep.
 */
static __always_inline void begin_sleep(__u64 lock, __u32 kind, __u32 is_spinning)
{
	__u64 thread = (__u64)bpf_get_current_task_btf();
	struct lock_wait *known = bpf_map_lookup_elem(&lock_waits, &thread);
	struct lock_wait wait = { .lock = lock, .kind = kind, .is_spinning = is_spinning };
	__u32 index = pilotlight_counters_index(PILOTLIGHT_SOURCE_LOCK, active_window & 1);
	struct pilotlight_counters *counts;

	if (known && known->lock == lock && known->is_spinning && !is_spinning) {
		known->is_spinning = 0;
		return;
	}
	wait.since_ns = bpf_ktime_get_ns();
	if (bpf_map_update_elem(&lock_waits, &thread, &wait, BPF_ANY) == 0)
		return;
	counts = bpf_map_lookup_elem(&counters, &index);
	if (counts)
		count(&counts->events[PILOTLIGHT_EVENT_WAIT_REFUSED], 1);
}

/* Ends a spin of this CPU; returns 0 if it has none for that lock. */
static __always_inline __u64 end_spin(__u64 lock, __u32 *kind)
{
	struct spin_waits *spins = samples_spin_locks ? this_cpu_spins() : 0;

	for (__u32 i = 1; spins && i <= SPINS_MAX; i++) {
		__u64 place = spins->depth - i;
		struct lock_wait *wait = &spins->waits[place & (SPINS_MAX - 1)];

		if (place >= SPINS_MAX)
			return 0;
		if (wait->lock == lock) {
			spins->depth = place;
			*kind = wait->kind;
			return wait->since_ns;
		}
	}
	return 0;
}

static __always_inline __u64 end_sleep(__u64 lock, __u32 *kind)
{
	__u64 thread = (__u64)bpf_get_current_task_btf(), since_ns;
	struct lock_wait *wait = bpf_map_lookup_elem(&lock_waits, &thread);

	if (!wait || wait->lock != lock)
		return 0;
	*kind = wait->kind;
	since_ns = wait->since_ns;
	bpf_map_delete_elem(&lock_waits, &thread);
	return since_ns;
}

/* The wait for a lock is over. */
static __always_inline void end_wait(void *ctx, __u64 lock, enum skipped_frames skipped)
{
	__u64 begin_ns = watch_begin(), since_ns = 0;
	__u32 kind = PILOTLIGHT_WAIT_NONE, periods = 0;

	if (lock)
		since_ns = end_spin(lock, &kind);
	if (!since_ns)
		since_ns = end_sleep(lock, &kind);
	if (since_ns > locks_since_ns)
		periods = periods_in(PILOTLIGHT_SOURCE_LOCK, bpf_ktime_get_ns() - since_ns);
	watch_end(PILOTLIGHT_SOURCE_LOCK, begin_ns);
	if (periods)
		sample_current(ctx, PILOTLIGHT_SOURCE_LOCK, kind, periods, skipped);
}

SEC("?tp_btf/contention_begin")
int BPF_PROG(begin_contention, void *lock, unsigned int flags)
{
	__u32 kind = lock_kind(flags);
	int is_spin = kind == PILOTLIGHT_WAIT_SPINLOCK || kind == PILOTLIGHT_WAIT_RWLOCK;
	__u64 begin_ns;

	if ((is_spin && !samples_spin_locks) || is_sampling_here())
		return 0;
	begin_ns = watch_begin();
	if (is_spin)
		begin_spin((__u64)lock, kind);
	else
		begin_sleep((__u64)lock, kind, flags & LOCK_SPIN);
	watch_end(PILOTLIGHT_SOURCE_LOCK, begin_ns);
	return 0;
}

SEC("?tp_btf/contention_end")
int BPF_PROG(end_contention, void *lock)
{
	if (!is_sampling_here())
		end_wait(ctx, (__u64)lock, SKIP_NOTHING);
	return 0;
}

/* Is the current thread in a system call that waits for a futex? */
static __always_inline int is_in_futex(void)
{
	__u64 words[PT_REGS_CS - PT_REGS_ORIG_RAX + 1];

	if (!bpf_get_current_task_btf()->mm ||
		!can_read_own_pt_regs(words, PT_REGS_CS - PT_REGS_ORIG_RAX + 1, PT_REGS_ORIG_RAX) ||
		words[PT_REGS_CS - PT_REGS_ORIG_RAX] != USER_CODE_SELECTOR)
		return 0;
	return words[0] == SYSTEM_CALL_FUTEX || words[0] == SYSTEM_CALL_FUTEX_WAITV ||
	       words[0] == SYSTEM_CALL_FUTEX_WAIT;
}

/* Its arguments: is it preempted, the previous and the next thread, the previous one's state. */
SEC("?tp_btf/sched_switch")
int begin_futex(__u64 *ctx)
{
	struct task_struct *previous = (struct task_struct *)ctx[1];
	__u64 begin_ns = watch_begin();
	__u32 state = 0;

	if (!ctx[0])
		state = tells_previous_state ? (__u32)ctx[3] : previous->__state;
	if (state & STATE_INTERRUPTIBLE && is_in_futex())
		begin_sleep(0, PILOTLIGHT_WAIT_FUTEX, 0);
	watch_end(PILOTLIGHT_SOURCE_LOCK, begin_ns);
	return 0;
}

/* As account_switch() and account_schedule(). */
SEC("?tp_btf/sched_exit_tp")
int BPF_PROG(end_futex, int is_switch)
{
	if (is_switch && is_in_futex())
		end_wait(ctx, 0, SKIP_TO_SCHEDULE);
	return 0;
}

SEC("?fexit/schedule")
int end_futex_schedule(void *ctx)
{
	if (is_in_futex())
		end_wait(ctx, 0, SKIP_TO_SCHEDULE);
	return 0;
}
