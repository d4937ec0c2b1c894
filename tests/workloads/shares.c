/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * shares [SECONDS]: hot_60, hot_30 and hot_10 do 60, 30 and 10 % of the work, in rounds of ten
 * turns that are much shorter than the sampling period.
 */
#include "work.h"

enum { TURN_UNITS = 10, TURNS = 10 };

static NOINLINE uint64_t hot_60(uint64_t seed)
{
	return work_units(TURN_UNITS, seed) + 1;
}

static NOINLINE uint64_t hot_30(uint64_t seed)
{
	return work_units(TURN_UNITS, seed) + 1;
}

static NOINLINE uint64_t hot_10(uint64_t seed)
{
	return work_units(TURN_UNITS, seed) + 1;
}

static uint64_t run_round(uint8_t turns[TURNS], uint64_t *random, uint64_t seed)
{
	shuffle(turns, TURNS, random);
	for (int i = 0; i < TURNS; i++)
		seed = turns[i] == 60 ? hot_60(seed) : turns[i] == 30 ? hot_30(seed) : hot_10(seed);
	return seed;
}

int main(int argc, char **argv)
{
	double end = own_seconds() + number_argument(argc, argv, 1, 10);
	uint8_t turns[TURNS] = { 60, 60, 60, 60, 60, 60, 30, 30, 30, 10 };
	uint64_t seed = 1, random = (uint64_t)getpid();

	while (own_seconds() < end)
		for (int round = 0; round < 100; round++)
			seed = run_round(turns, &random, seed);
	keep(seed);
	return 0;
}
