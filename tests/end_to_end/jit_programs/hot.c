/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For lli: runs heavy three times as long as light. The argument is the number of rounds. */
#include <stdlib.h>

static __attribute__((noinline)) unsigned heavy(unsigned rounds)
{
	unsigned sum = 1;

	for (unsigned i = 0; i < 3 * rounds; i++)
		sum = (sum * 31 + i) ^ (sum >> 7);
	return sum;
}

static __attribute__((noinline)) unsigned light(unsigned rounds)
{
	unsigned sum = 1;

	for (unsigned i = 0; i < rounds; i++)
		sum = (sum * 31 + i) ^ (sum >> 7);
	return sum;
}

int main(int argc, char **argv)
{
	unsigned total = 0;

	for (int times = argc > 1 ? atoi(argv[1]) : 1; times > 0; times--)
		total += heavy(1000000 + total % 7) + light(1000000 + total % 7);
	return total == 1;
}
