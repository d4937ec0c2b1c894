/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Samples of events that the kernel counts itself: a perf event on each CPU runs the program at
 * each period-th of them. So all others cost no more than the kernel's counting.
 */
#pragma once

#include "amount.bpf.h"
#include "pilotlight/event.h"

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
