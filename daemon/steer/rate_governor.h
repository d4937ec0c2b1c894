/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Keeps the service's cost to its budget (I10): from what it has used of the machine's CPU time it
 * tells at which rate to sample. Down at once when the cost is above the budget, in proportion; up
 * again step by step once it has been well below for a while, so that it does not swing. Rates are
 * of a ladder of numbers that do not beat with timers of round periods. A pure function of what it
 * is told; no clock.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct rate_governor {
	uint32_t wanted_hz, floor_hz; /* never above, never below */
	uint64_t max_ppm;	      /* of the machine's CPU time */
	uint32_t rate_hz;
	/* Private. */
	double average_ppm;
	unsigned calm_periods;
	bool has_average;
};

/* What was used since it was last told. */
struct rate_governor_use {
	uint64_t elapsed_ns; /* of the wall clock; 0: nothing is learnt */
	uint32_t cpu_count;
	uint64_t sampling_ns; /* goes with the rate: BPF programs, draining */
	uint64_t other_ns;    /* does not: start-up, symbols, answers */
	uint64_t samples;     /* that fired: an idle machine's cost tells little */
};

void rate_governor_init(struct rate_governor *governor, uint32_t wanted_hz, uint64_t max_ppm);

/* The configuration has changed. */
void rate_governor_set(struct rate_governor *governor, uint32_t wanted_hz, uint64_t max_ppm);

/* To be told about every ten seconds. Returns the rate from now on, in Hz. */
uint32_t rate_governor_run(struct rate_governor *governor, const struct rate_governor_use *use);

/* Over about a minute, of the machine's CPU time in millionths; 0 until it is known. */
double rate_governor_cost_ppm(const struct rate_governor *governor);
