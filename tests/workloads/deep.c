/* SPDX-License-Identifier: GPL-2.0-or-later */
/* deep [SECONDS [DEPTH]]: works below a chain of DEPTH (200) calls of descend(). */
#include "work.h"

static NOINLINE uint64_t deep_work(uint64_t seed)
{
	return work_units(1000, seed) + 1;
}

static NOINLINE uint64_t descend(unsigned depth, double end, uint64_t seed)
{
	if (depth > 1)
		return descend(depth - 1, end, seed) + depth;
	while (own_seconds() < end)
		seed = deep_work(seed);
	return seed;
}

int main(int argc, char **argv)
{
	double end = own_seconds() + number_argument(argc, argv, 1, 5);
	unsigned depth = (unsigned)number_argument(argc, argv, 2, 200);

	keep(descend(depth, end, 1));
	return 0;
}
