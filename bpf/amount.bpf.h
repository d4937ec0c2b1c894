/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Samples of the current thread for all sources but CPU time. A program finds out how much of its
 * source an event is worth, asks periods_in() for how many periods to sample, and if there are any,
 * calls sample_current(). Programs of any type can do so whose context bpf_get_stack() takes.
 */
#pragma once

#include "kernel_types.h"
#include "pace.bpf.h"
#include "pilotlight/event.h"
#include "task.bpf.h"

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

/* Constants, set before loading. */
const volatile __u64 source_periods[PILOTLIGHT_SOURCES]; /* in units of the source; 0: it is off */
/* Of a source on all CPUs; if more come, they get rarer. */
const volatile __u32 samples_per_slot;
/* Kernel stacks begin in __schedule(), not in what it calls to run the program. 0: unknown. */
const volatile __u64 schedule_address;

/* By source. */
static struct pace paces[PILOTLIGHT_SOURCES];

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

/* Which frames the kernel stack of a sample lacks. */
enum skipped_frames {
	SKIP_NOTHING,
	SKIP_TO_SCHEDULE, /* those above __schedule() */
	SKIP_KERNEL,	  /* all: the event is one of user code, such as a probe in it */
};

enum {
	/* .sched.text has hardly anything else. */
	SCHEDULE_BYTES_MAX = 8192,
	FRAMES_ABOVE_SCHEDULE_MAX = 8,
};

static __always_inline __u32 interval_of(enum pilotlight_source source)
{
	return pace_interval(&paces[source]);
}

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

/* Takes one sample of the current thread. `wait` is why it did not run. */
static __noinline void sample_current(void *ctx, enum pilotlight_source source, __u32 wait,
	__u32 periods, enum skipped_frames skipped)
{
	__u32 window = active_window, entry = 1, zero = 0;
	__u32 index = pilotlight_counters_index(source, window & 1);
	struct pilotlight_counters *counts = bpf_map_lookup_elem(&counters, &index);
	struct walker *walker = bpf_map_lookup_elem(&walkers, &entry);
	struct amount_cpu *cpu = bpf_map_lookup_elem(&amount_cpus, &zero);
	__u64 now = bpf_ktime_get_ns();
	struct sample *sample;

	if (!counts || !walker || !cpu || source >= PILOTLIGHT_SOURCES)
		return;
	count(&counts->fired, periods);
	/* An event in an interrupt, or of the code that takes a sample; newer kernels may also
	 * preempt a program. */
	if (__sync_lock_test_and_set(&cpu->is_sampling, 1)) {
		count(&counts->dropped[PILOTLIGHT_DROP_BUSY], periods);
		return;
	}
	sample = &cpu->sample;
	*sample = (struct sample){ .window = window, .periods = periods };
	sample->key.source = source;
	sample->key.wait = wait;
	describe_task(bpf_get_current_task_btf(), &sample->key.process, &sample->key.tid);
	if (is_filtered(sample)) {
		count(&counts->dropped[PILOTLIGHT_DROP_FILTERED], periods);
		goto out;
	}
	count(&counts->run_ns, -now);
	pace_note(&paces[source], samples_per_slot, now);
	sample->has_kernel_stack = wants_kernel && skipped != SKIP_KERNEL;
	if (wants_kernel && skipped == SKIP_TO_SCHEDULE)
		sample->skipped_frames = frames_above_schedule(ctx);
	walker->walk.record.time_ns = now;
	record_sample(ctx, counts, walker, sample,
		wants_walks && has_user_mappings() && read_task_registers(&walker->walk));
	counts = bpf_map_lookup_elem(&counters, &index);
	if (counts)
		count(&counts->run_ns, bpf_ktime_get_ns());
out:
	__sync_lock_test_and_set(&cpu->is_sampling, 0);
}
