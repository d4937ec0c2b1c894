/* SPDX-License-Identifier: GPL-2.0-or-later */
/* short_lived [MILLISECONDS]: uses that much CPU time in short_lived_work() and ends. */
#include "work.h"

static NOINLINE uint64_t short_lived_work(uint64_t seed)
{
	return work_units(100, seed) + 1;
}

int main(int argc, char **argv)
{
	double seconds = number_argument(argc, argv, 1, 3) / 1000;
	uint64_t seed = 1;

	while (now_seconds(CLOCK_PROCESS_CPUTIME_ID) < seconds)
		seed = short_lived_work(seed);
	keep(seed);
	return 0;
}
