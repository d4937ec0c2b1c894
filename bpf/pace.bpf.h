/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How many periods of its source a sample stands for. These functions call no helpers, so they also
 * compile for the host, where they are tested.
 *
 * While samples of a source come too fast, only each n-th period is sampled, and a sample stands
 * for all n. Samples then get rarer, and their sums stay right in expectation.
 */
#pragma once

#include <linux/types.h>

enum {
	PACE_SLOT_NS = 100000000,
	PACE_INTERVAL_SHIFT_MAX = 8,
	PACE_INTERVAL_MAX = 1 << PACE_INTERVAL_SHIFT_MAX,
};

/* Of a source, common to all CPUs. */
struct pace {
	__u64 slot_ns; /* when the present slot began, CLOCK_MONOTONIC */
	__u32 slot_samples;
	__u32 interval; /* in periods; 1 if it is out of range, as it is at first */
};

static inline __u32 pace_interval(const struct pace *pace)
{
	__u32 interval = pace->interval;

	return interval - 1 < PACE_INTERVAL_MAX ? interval : 1;
}

/*
 * Notes a sample. The interval doubles as soon as a slot has `samples_per_slot`, and halves for
 * each slot that had less than a quarter. Races between CPUs only delay that.
 */
static inline void pace_note(struct pace *pace, __u32 samples_per_slot, __u64 now)
{
	__u32 interval = pace_interval(pace), samples;
	__u64 slots = (now - pace->slot_ns) / PACE_SLOT_NS;

	samples = __sync_fetch_and_add(&pace->slot_samples, 1) + 1;
	if (samples < samples_per_slot && slots == 0)
		return;
	if (samples >= samples_per_slot && slots == 0) {
		if (interval < PACE_INTERVAL_MAX)
			pace->interval = interval * 2;
	} else if ((samples - 1) * 4 < samples_per_slot) { /* without this one, of the next slot */
		interval >>= slots < PACE_INTERVAL_SHIFT_MAX ? slots : PACE_INTERVAL_SHIFT_MAX;
		pace->interval = interval ? interval : 1;
	}
	pace->slot_samples = 0;
	pace->slot_ns = now;
}

/*
 * The number of periods that an amount stands for; 0: it is not sampled. An amount that is no whole
 * number of intervals is rounded up or down by chance, in proportion, so that the expectation is
 * the amount. This needs no sum from event to event, and no pattern of events can fall into step
 * with it. A sample stands for at most 2^32 - 1 periods, so an amount beyond that is cut. `period`
 * is not 0.
 */
static inline __u32 pace_periods(__u64 amount, __u64 period, __u32 interval, __u64 random)
{
	__u64 interval_amount = period * interval, times = 0, rest = amount;

	if (amount >= interval_amount) {
		times = amount / interval_amount;
		rest = amount - times * interval_amount;
	}
	if (rest && random % interval_amount < rest)
		times++;
	if (times > ~0U / interval)
		times = ~0U / interval;
	return (__u32)times * interval;
}

enum { PACE_SHIFT_MAX = 12 };

/*
 * A bound without a rate: of things that come one by one, the first `all` are sampled. Then of as
 * many every second one, of twice as many every fourth, and so on: the number `n`, from 0 on, is
 * sampled with the chance of 1 / 2^shift, and stands for 2^shift. So the samples grow with the
 * logarithm of the number alone. `all` is not 0.
 */
static inline __u32 pace_shift(__u32 n, __u32 all)
{
	__u32 shift = 0;

	for (__u32 i = 0; i < PACE_SHIFT_MAX && n >= all; i++, n >>= 1)
		shift++;
	return shift;
}
