/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Keeps the service's CPU cost within its budget (I10) by choosing the sampling rate.
 *
 * Down: when the cost exceeded the budget for half a minute, the rate drops in proportion. That
 * time may be split into bursts; calm time between them pays some of it back. Up: after a calm
 * period well below the budget, the rate rises by one step. To avoid oscillation, each fall after a
 * step up doubles that calm period, to about an hour at most.
 *
 * Rates come from a ladder of primes below the configured rate, which do not beat with timers of
 * round periods.
 *
 * Cost that does not depend on the rate comes in bursts, so it is averaged over ten minutes. It is
 * deducted from the budget, but never more than half of it: a lower rate would not reduce it.
 *
 * After an incident a caller may raise the rate for a while, as far as the total cost stays within
 * the budget, by what sampling has cost last or, if that is more, in the last minute, and by all
 * other cost of that minute. It is not raised while the total of the minute exceeds the budget. The
 * other rules go on as if the rate were not raised.
 *
 * The governor is a pure function of its inputs and reads no clock.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { RATE_GOVERNOR_FLOOR_HZ = 7 }; /* or the configured rate, if lower */

struct rate_governor {
	uint32_t configured_hz, floor_hz; /* the upper and the lower bound of rate_hz */
	uint64_t max_ppm;		  /* of the machine's CPU time; 0: no budget */
	uint32_t rate_hz;		  /* unless it is raised */
	uint32_t raised_hz;		  /* 0: it is not */
	/* Private. */
	uint32_t raise_hz; /* what was asked for */
	uint64_t raise_ns; /* the time that remains of it */
	/* Cost of sampling for each Hz, in the last period and over 1 min; 0: unknown. */
	double hertz_ppm, minute_hertz_ppm;
	double average_ppm;		    /* total, over 1 min */
	double minute_other_ppm, other_ppm; /* rate-independent, over 1 min and over 10 min */
	unsigned calm_units;		    /* calm time since the last change; see BUSY_UNITS */
	unsigned calm_needed;
	double over_ppm;  /* lowest cost of sampling while above its allowance */
	uint64_t over_ns; /* time above it, less the time paid back; 0: not above */
	bool has_average;
	bool has_risen; /* since the last fall */
};

/* Usage since the last call. */
struct rate_governor_use {
	uint64_t elapsed_ns;  /* wall-clock time; 0: this call is ignored */
	uint32_t cpu_count;   /* 0: this call is ignored */
	uint64_t sampling_ns; /* depends on the rate: BPF programs, draining */
	uint64_t other_ns;    /* does not: start-up, opening files, queries */
	uint64_t samples;     /* without those of idle CPUs: an idle machine's cost says little */
};

/* Starts at `configured_hz`, which is not 0. */
void rate_governor_init(struct rate_governor *governor, uint32_t configured_hz, uint64_t max_ppm);

/* Call about every ten seconds. Returns the rate from now on, in Hz. */
uint32_t rate_governor_run(struct rate_governor *governor, const struct rate_governor_use *use);

/*
 * Raises the rate to `raise_hz` for so long, or to less, if the budget does not allow it; not at
 * all as long as the cost is unknown. rate_governor_run() returns the rate.
 */
void rate_governor_raise(struct rate_governor *governor, uint32_t raise_hz, uint64_t for_ns);

/* The total cost over about a minute, in millionths of the machine's CPU time; 0 until known. */
double rate_governor_cost_ppm(const struct rate_governor *governor);
