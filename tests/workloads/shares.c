/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * shares [SECONDS]: hot_60, hot_30 and hot_10 do 60, 30 and 10 % of the units, in rounds that are
 * far shorter than the time between two samples.
 */
#include "work.h"

static NOINLINE uint64_t hot_60(uint64_t seed)
{
	return work_units(60, seed) + 1;
}

static NOINLINE uint64_t hot_30(uint64_t seed)
{
	return work_units(30, seed) + 1;
}

static NOINLINE uint64_t hot_10(uint64_t seed)
{
	return work_units(10, seed) + 1;
}

int main(int argc, char **argv)
{
	double end = now_seconds(CLOCK_MONOTONIC) + number_argument(argc, argv, 1, 10);
	uint64_t seed = 1;

	while (now_seconds(CLOCK_MONOTONIC) < end)
		for (int round = 0; round < 100; round++)
			seed = hot_10(hot_30(hot_60(seed)));
	keep(seed);
	return 0;
}
