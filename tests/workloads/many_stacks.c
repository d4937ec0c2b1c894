/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * many_stacks [SECONDS [PATHS]]: 40 % of the work is spread over PATHS (65536) different call
 * paths of step_left and step_right; the_hot_path does 60 %.
 */
#include "work.h"

enum { TURN_UNITS = 20, TURNS = 5 };

static uint64_t step_left(uint32_t path, unsigned levels, uint64_t seed);
static uint64_t step_right(uint32_t path, unsigned levels, uint64_t seed);

static NOINLINE uint64_t the_hot_path(uint64_t seed)
{
	return work_units(TURN_UNITS, seed) + 1;
}

static inline __attribute__((always_inline)) uint64_t step(
	uint32_t path, unsigned levels, uint64_t seed)
{
	if (levels == 0)
		return work_units(TURN_UNITS, seed) + 1;
	if (path & 1)
		return step_right(path >> 1, levels - 1, seed) + 1;
	return step_left(path >> 1, levels - 1, seed) + 2;
}

static NOINLINE uint64_t step_left(uint32_t path, unsigned levels, uint64_t seed)
{
	return step(path, levels, seed) + 3;
}

static NOINLINE uint64_t step_right(uint32_t path, unsigned levels, uint64_t seed)
{
	return step(path, levels, seed) + 4;
}

/* Of five turns, the hot path has three and one cold path two. */
static uint64_t run_round(
	uint8_t turns[TURNS], uint64_t *random, uint32_t path, unsigned levels, uint64_t seed)
{
	shuffle(turns, TURNS, random);
	for (int i = 0; i < TURNS; i++)
		seed = turns[i] ? the_hot_path(seed) : step_left(path, levels, seed);
	return seed;
}

int main(int argc, char **argv)
{
	double end = own_seconds() + number_argument(argc, argv, 1, 5);
	uint32_t paths = (uint32_t)number_argument(argc, argv, 2, 65536), path = 0;
	uint8_t turns[TURNS] = { 1, 1, 1, 0, 0 };
	uint64_t seed = 1, random = (uint64_t)getpid();
	unsigned levels = 0;

	while (levels < 31 && UINT32_C(1) << levels < paths)
		levels++;
	while (own_seconds() < end)
		for (int i = 0; i < 100; i++) {
			seed = run_round(turns, &random, path, levels, seed);
			/* An odd stride visits all paths, in jumps. */
			path = (path + 40503) & ((UINT32_C(1) << levels) - 1);
		}
	keep(seed);
	return 0;
}
