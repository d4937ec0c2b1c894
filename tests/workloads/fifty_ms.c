/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fifty_ms [unlink]: uses 50 ms of CPU time in fifty_ms_work(), with `unlink` after removing its
 * own file. */
#include "work.h"

static NOINLINE uint64_t fifty_ms_work(uint64_t seed)
{
	return work_units(500, seed) + 1;
}

static void unlink_self(void)
{
	char path[4096];
	ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);

	if (length < 0) {
		perror("/proc/self/exe");
		exit(1);
	}
	path[length] = '\0';
	if (unlink(path) < 0) {
		perror(path);
		exit(1);
	}
}

int main(int argc, char **argv)
{
	uint64_t seed = 1;

	if (argc > 1 && !strcmp(argv[1], "unlink"))
		unlink_self();
	while (now_seconds(CLOCK_PROCESS_CPUTIME_ID) < 0.050)
		seed = fifty_ms_work(seed);
	keep(seed);
	return 0;
}
