/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Keeps the service's cost to its budget (I10): from what it has used of the machine's CPU time it
 * tells at which rate to sample. Down, in proportion, when the cost has been above the budget for
 * half a minute, at one time or, where the calm between does not make up for it, at several; up
 * again step by step once it has been well below for a while, so that it does not swing: each fall
 * that follows a step up doubles the while, up to an hour or so. Rates are of a ladder of primes
 * below the wanted one, which do not beat with timers of round periods. A pure function of what it
 * is told; no clock.
 *
 * What does not go with the rate is spread over ten minutes, since it comes in bursts, and takes of
 * the budget what it needs, but at most half: a lower rate would not make it any cheaper.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { RATE_GOVERNOR_FLOOR_HZ = 7 }; /* or what is wanted, where that is less */

struct rate_governor {
	uint32_t wanted_hz, floor_hz; /* never above, never below */
	uint64_t max_ppm;	      /* of the machine's CPU time; 0: there is no budget */
	uint32_t rate_hz;
	/* Private. */
	double average_ppm, other_ppm; /* of all, over a minute; of what is steady, over ten */
	unsigned calm_units; /* since the last change, of periods that allowed a step up */
	unsigned calm_wanted;
	double over_ppm; /* the least of what sampling cost when it was above what is allowed */
	uint64_t
		over_ns; /* for how long it has been, less what was paid back since; 0: it is not */
	bool has_average;
	bool has_risen; /* since the last fall */
};

/* What was used since it was last told. */
struct rate_governor_use {
	uint64_t elapsed_ns;  /* of the wall clock; 0: nothing is learnt */
	uint32_t cpu_count;   /* likewise */
	uint64_t sampling_ns; /* goes with the rate: BPF programs, draining */
	uint64_t other_ns;    /* does not: start-up, symbols, answers */
	uint64_t samples;     /* not of idle CPUs: an idle machine's cost tells little */
};

/* `wanted_hz` is not 0; it is the rate at first. */
void rate_governor_init(struct rate_governor *governor, uint32_t wanted_hz, uint64_t max_ppm);

/* To be told about every ten seconds. Returns the rate from now on, in Hz. */
uint32_t rate_governor_run(struct rate_governor *governor, const struct rate_governor_use *use);

/* Over about a minute, of the machine's CPU time in millionths; 0 until it is known. */
double rate_governor_cost_ppm(const struct rate_governor *governor);
