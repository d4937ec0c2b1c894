/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bursts COUNT: background() works, and culprit() now and then for 50 ms of CPU time at a time.
 * Prints when each burst began and ended, in ms since 1970.
 */
#include "work.h"

#define BURST_S	     0.05
#define BACKGROUND_S 0.15

static double cpu_until;

static NOINLINE uint64_t background(uint64_t seed)
{
	do
		seed = work_units(50, seed) + 1;
	while (now_seconds(CLOCK_THREAD_CPUTIME_ID) < cpu_until);
	return seed;
}

static NOINLINE uint64_t culprit(uint64_t seed)
{
	do
		seed = work_units(50, seed) + 2;
	while (now_seconds(CLOCK_THREAD_CPUTIME_ID) < cpu_until);
	return seed;
}

int main(int argc, char **argv)
{
	double count = number_argument(argc, argv, 1, 10);
	uint64_t seed = 1;

	for (double i = 0; i < count; i++) {
		double from;

		cpu_until = now_seconds(CLOCK_THREAD_CPUTIME_ID) + BACKGROUND_S;
		seed = background(seed);
		cpu_until += BURST_S;
		from = now_seconds(CLOCK_REALTIME);
		seed = culprit(seed);
		printf("%.0f %.0f\n", from * 1000, now_seconds(CLOCK_REALTIME) * 1000);
	}
	return seed == 0;
}
