/* SPDX-License-Identifier: GPL-2.0-or-later */
/* execer SECONDS PROGRAM [ARGUMENT...]: works in before_exec(), then becomes PROGRAM. */
#include "work.h"

static NOINLINE uint64_t before_exec(uint64_t seed)
{
	return work_units(1000, seed) + 1;
}

int main(int argc, char **argv)
{
	double end = own_seconds() + number_argument(argc, argv, 1, 1);
	uint64_t seed = 1;

	if (argc < 3) {
		(void)fprintf(stderr, "usage: execer SECONDS PROGRAM [ARGUMENT...]\n");
		return 2;
	}
	while (own_seconds() < end)
		seed = before_exec(seed);
	keep(seed);
	(void)execv(argv[2], argv + 2);
	perror(argv[2]);
	return 127;
}
