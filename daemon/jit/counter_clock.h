/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The CPU's counter (x86: rdtsc; arm64: cntvct_el0) as CLOCK_MONOTONIC: for writers that stamp with
 * it. Two readings of both clocks give the rate, the later one the place; no privilege is needed.
 *
 * How exact: a reading is the closest of several, off by half of what it takes to read the clock,
 * some 20 ns (and up to 1 us where the clock is a system call). The first rate is taken over 5 ms
 * and so within some 10 ppm; each counter_clock_update() takes it over the whole time since, within
 * 0.1 ppm after a second. A stamp is then off by the readings' error plus that of the rate times
 * its distance from the last update. It is meaningless on another machine or after a restart, and
 * on CPUs whose counter does not run evenly (no invariant TSC).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct counter_reading {
	uint64_t counter;
	uint64_t time_ns; /* CLOCK_MONOTONIC, at the same moment */
};

struct counter_clock {
	struct counter_reading first, last;
	uint64_t ns_per_tick; /* times 2^32 */
};

/* Busy for 5 ms. Returns 0, or -EOPNOTSUPP where there is no such counter or it stands still. */
int counter_clock_init(struct counter_clock *ret_clock);

/* Makes it more exact, some 1 us: before stamps are converted that are newer than the last time. */
void counter_clock_update(struct counter_clock *clock);

/*
 * One for all who need it: measured when it is first asked for, and made more exact each time. All
 * zeros is one. Returns NULL where there is no such counter; borrowed.
 */
struct shared_counter_clock {
	bool is_measured;
	int error;
	struct counter_clock clock;
};
const struct counter_clock *shared_counter_clock_get(struct shared_counter_clock *shared);

/* In ns, below 0 and beyond the end taken as those. */
uint64_t counter_clock_to_ns(const struct counter_clock *clock, uint64_t counter);

/* Both clocks now. Returns 0 or -EOPNOTSUPP. */
int counter_reading_take(struct counter_reading *ret_reading);

/*
 * The above for readings that somebody has taken. Returns 0, or -EINVAL where the later one is not
 * later by both clocks, or the rate is none of a counter's: below 1 MHz or above 100 GHz.
 */
int counter_clock_from(const struct counter_reading *first, const struct counter_reading *last,
	struct counter_clock *ret_clock);
/*
 * One that is far from where it should be shows that one of the clocks stood still, as they do
 * while the machine sleeps: its place is then taken, and the rate is measured anew from there.
 */
void counter_clock_add(struct counter_clock *clock, const struct counter_reading *reading);
