/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Converts the CPU's counter (x86: rdtsc; arm64: cntvct_el0) to CLOCK_MONOTONIC, for runtimes that
 * use it for time stamps. Two readings of both clocks give the rate. No privilege is needed.
 *
 * Accuracy: a reading is the closest of several and off by half the time that it takes to read the
 * clock: some 20 ns, or up to 1 us if the clock is a system call. The first rate is measured over
 * 5 ms and within some 10 ppm. Each further use measures it over the whole time since,
 * within 0.1 ppm after a second. A time stamp is then off by the error of the readings plus that of
 * the rate times the distance to the last use. A stamp of another machine or from before a
 * reboot is meaningless, and so is one of a CPU whose counter does not run evenly (no invariant
 * TSC).
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

/*
 * A clock for several users: measured at the first use, in 5 ms of CPU time, and improved at each,
 * in about 1 us. Get it anew before converting newer stamps. All zeros is valid. Returns a borrowed
 * clock, or NULL if there is no counter, or if it stands still.
 */
struct shared_counter_clock {
	bool is_measured;
	int error;
	struct counter_clock clock;
};
const struct counter_clock *shared_counter_clock_get(struct shared_counter_clock *shared);

/* In ns, clamped to 0 and UINT64_MAX. */
uint64_t counter_clock_to_ns(const struct counter_clock *clock, uint64_t counter);

/* Reads both clocks. Returns 0 or -EOPNOTSUPP. */
int counter_reading_take(struct counter_reading *ret_reading);

/*
 * Makes a clock from two readings. Returns 0, or -EINVAL if the second is not later by both clocks,
 * or if the rate is below 1 MHz or above 100 GHz.
 */
int counter_clock_from(const struct counter_reading *first, const struct counter_reading *last,
	struct counter_clock *ret_clock);
/*
 * Adds a later reading. If it is far from the expected line, one of the clocks stood still, as
 * during suspend: the reading then starts a new line, with a new measurement of the rate.
 */
void counter_clock_add(struct counter_clock *clock, const struct counter_reading *reading);
