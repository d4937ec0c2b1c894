/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Samples of events that the kernel counts itself: a perf event on each CPU runs the program at
 * each period-th of them. So all others cost no more than the kernel's counting.
 */
#pragma once

#include "amount.bpf.h"
#include "pilotlight/event.h"
#include "watch.bpf.h"

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

/* The events of a whole period have come. While samples come too fast, most are left out. */
static __always_inline void sample_period(void *ctx, enum pilotlight_source source)
{
	__u32 periods = periods_in(source, source_periods[source]);

	if (periods)
		sample_current(ctx, source, PILOTLIGHT_WAIT_NONE, periods, SKIP_NOTHING);
}

SEC("?perf_event")
int count_fault(void *ctx)
{
	sample_period(ctx, PILOTLIGHT_SOURCE_FAULTS);
	return 0;
}

/* The source of an event that a user has named is the cookie with which it was attached. */
static __always_inline int counted_source(void *ctx, enum pilotlight_source *source)
{
	__u64 number = bpf_get_attach_cookie(ctx) - PILOTLIGHT_SOURCE_COUNTED;

	/* The verifier does not follow the compiler's ways to check a range. */
	asm volatile("" : "+r"(number));
	if (number >= PILOTLIGHT_COUNTED_EVENTS)
		return 0;
	*source = (enum pilotlight_source)(PILOTLIGHT_SOURCE_COUNTED + number);
	return 1;
}

/* Of the PMU and of the kernel's software. An idle CPU counts cycles, too: no program's. */
SEC("?perf_event")
int count_event(void *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	enum pilotlight_source source;

	if (counted_source(ctx, &source) && task->pid != 0)
		sample_period(ctx, source);
	return 0;
}

/* The program runs at each hit. */
static __always_inline int sample_hit(void *ctx, enum skipped_frames skipped)
{
	__u64 begin_ns = watch_begin();
	enum pilotlight_source source;
	__u32 periods;

	if (!counted_source(ctx, &source))
		return 0;
	periods = periods_in(source, 1);
	watch_end(source, begin_ns);
	if (periods)
		sample_current(ctx, source, PILOTLIGHT_WAIT_NONE, periods, skipped);
	return 0;
}

SEC("?tracepoint")
int count_tracepoint(void *ctx)
{
	return sample_hit(ctx, SKIP_NOTHING);
}

SEC("?kprobe")
int count_probe(void *ctx)
{
	return sample_hit(ctx, SKIP_KERNEL);
}
