/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Samples of the current thread for all sources but CPU time. A program finds out how much of its
 * source an event is worth, asks periods_in() for how many periods to sample, and if there are any,
 * calls sample_current(). Programs of any type can do so whose context bpf_get_stack() takes.
 */
#pragma once

#include "kernel_types.h"
#include "pilotlight/event.h"
#include "source_period.bpf.h"
#include "task.bpf.h"

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

/* Constants, set before loading. */
/* Of a source on all CPUs; if more come, they get rarer. */
const volatile __u32 samples_per_slot;
/* Kernel stacks begin in __schedule(), not in what it calls to run the program. 0: unknown. */
const volatile __u64 schedule_address;

/* Of each CPU. */
struct amount_cpu {
	__u32 is_sampling;   /* and so uses `sample` and the CPU's walker */
	__u32 untimed_calls; /* until watch_begin() times one */
	/* It would take too much of the 512 bytes of stack that a program and its functions share.
	 */
	struct sample sample;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct amount_cpu);
} amount_cpus SEC(".maps");

/* Which frames the stacks of a sample lack. */
enum skipped_frames {
	SKIP_NOTHING,
	SKIP_TO_SCHEDULE, /* of the kernel stack: those above __schedule() */
	/* All of it: the event is one of user code, such as a probe in it. */
	SKIP_KERNEL,
	/* And the user's leaf: the probe is where a function begins, and its caller counts. */
	SKIP_CALLED,
};

enum {
	/* .sched.text has hardly anything else. */
	SCHEDULE_BYTES_MAX = 8192,
	FRAMES_ABOVE_SCHEDULE_MAX = 8,
};

/* What a sample is taken of. */
struct occasion {
	enum pilotlight_source source;
	enum skipped_frames skipped;
	__u32 periods;
	__u32 wait;    /* why the thread did not run; of kernel memory, its kind */
	__u64 address; /* of what was allocated, if the source counts what lives; else 0 */
};

/* The number of periods that a sample of this amount stands for; 0: none is taken. */
static __always_inline __u32 periods_in(enum pilotlight_source source, __u64 amount)
{
	__u64 random = (__u64)bpf_get_prandom_u32() << 32 | bpf_get_prandom_u32();
	__u64 period = source_periods[source];

	return period ? pace_periods(amount, period, interval_of(source), random) : 0;
}

/*
 * Frames that the kernel's stack has above __schedule(): this function, its program, and how that
 * is called. The kernel calls the only program of a tracepoint directly, and several through
 * another function. So they change while other tracers come and go, and each sample counts them.
 */
static __noinline __u32 frames_above_schedule(void *ctx)
{
	__u64 ips[FRAMES_ABOVE_SCHEDULE_MAX] = { 0 };

	if (!schedule_address || bpf_get_stack(ctx, ips, sizeof(ips), 0) < 0)
		return 0;
	for (__u32 i = 0; i < FRAMES_ABOVE_SCHEDULE_MAX; i++)
		if (ips[i] - schedule_address < SCHEDULE_BYTES_MAX)
			return i;
	return 0;
}

/* Where the walk of the user stack begins. */
static __always_inline int read_walk_registers(struct walk *walk, enum skipped_frames skipped)
{
	if (!read_task_registers(walk))
		return 0;
	if (skipped == SKIP_CALLED) {
		if (!can_read_user(walk, &walk->ip, 1, walk->sp))
			return 0;
		walk->sp += sizeof(walk->ip);
	}
	return 1;
}

/* Takes one sample of the current thread. Returns 0 if it is not stored, or not wanted. */
static __noinline int take_sample(void *ctx, const struct occasion *occasion)
{
	enum pilotlight_source source = occasion->source;
	__u32 window = active_window, entry = 1, zero = 0;
	__u32 index = pilotlight_counters_index(source, window & 1);
	struct pilotlight_counters *counts = bpf_map_lookup_elem(&counters, &index);
	struct walker *walker = bpf_map_lookup_elem(&walkers, &entry);
	struct amount_cpu *cpu = bpf_map_lookup_elem(&amount_cpus, &zero);
	__u64 now = bpf_ktime_get_ns();
	struct sample *sample;
	struct pace *pace;
	int is_stored = 0;

	if (!counts || !walker || !cpu || source >= PILOTLIGHT_SOURCES)
		return 0;
	pace = &paces[source];
	/* Linux 6.1 knows no bound of a source that was spilled before it was checked. */
	barrier_var(pace);
	count(&counts->fired, occasion->periods);
	/* An event in an interrupt, or of the code that takes a sample; newer kernels may also
	 * preempt a program. */
	if (__sync_lock_test_and_set(&cpu->is_sampling, 1)) {
		count(&counts->dropped[PILOTLIGHT_DROP_BUSY], occasion->periods);
		return 0;
	}
	sample = &cpu->sample;
	*sample = (struct sample){ .window = window, .periods = occasion->periods };
	sample->key.source = source;
	sample->key.wait = occasion->wait;
	sample->address = occasion->address;
	describe_task(bpf_get_current_task_btf(), &sample->key.process, &sample->key.tid);
	if (is_filtered(sample)) {
		count(&counts->dropped[PILOTLIGHT_DROP_FILTERED], occasion->periods);
		goto out;
	}
	count(&counts->run_ns, -now);
	if (pace_interval(pace) > 1)
		count(&counts->events[PILOTLIGHT_EVENT_THINNED], 1);
	pace_note(pace, samples_per_slot, now);
	sample->has_kernel_stack = wants_kernel && occasion->skipped < SKIP_KERNEL;
	if (wants_kernel && occasion->skipped == SKIP_TO_SCHEDULE)
		sample->skipped_frames = frames_above_schedule(ctx);
	walker->walk.record.time_ns = now;
	is_stored = record_sample(ctx, counts, walker, sample,
		wants_walks && has_user_mappings() &&
			read_walk_registers(&walker->walk, occasion->skipped));
	counts = bpf_map_lookup_elem(&counters, &index);
	if (counts)
		count(&counts->run_ns, bpf_ktime_get_ns());
out:
	__sync_lock_test_and_set(&cpu->is_sampling, 0);
	return is_stored;
}

/* Counts a sample that cannot be taken. */
static __always_inline void drop_sample(
	const struct occasion *occasion, enum pilotlight_drop reason)
{
	__u32 index = pilotlight_counters_index(occasion->source, active_window & 1);
	struct pilotlight_counters *counts = bpf_map_lookup_elem(&counters, &index);

	if (!counts)
		return;
	count(&counts->fired, occasion->periods);
	count(&counts->dropped[reason], occasion->periods);
}

/* Takes one sample of the current thread. `wait` is why it did not run. */
static __always_inline void sample_current(void *ctx, enum pilotlight_source source, __u32 wait,
	__u32 periods, enum skipped_frames skipped)
{
	struct occasion occasion = {
		.source = source,
		.skipped = skipped,
		.periods = periods,
		.wait = wait,
	};

	take_sample(ctx, &occasion);
}
