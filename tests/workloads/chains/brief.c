/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * BRIEF MILLISECONDS [COMM [TIMES [OTHER]]]: uses that much CPU time in the function WORK, which
 * has the program's name, and ends, or executes itself TIMES more, alternating with OTHER. COMM is
 * its name meanwhile; - keeps the name from execve(). WORK_STEPS makes the programs differ,
 * because programs that differ only in WORK would share a build-id.
 */
#include "chains.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

static double used_seconds(void)
{
	struct timespec used;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	return (double)used.tv_sec + (double)used.tv_nsec * 1e-9;
}

void WORK(void);
FRAME void WORK(void)
{
	for (unsigned i = 0; i < WORK_STEPS; i++)
		AFTER_CALL();
}

FRAME static void work_for(double seconds)
{
	while (used_seconds() < seconds)
		WORK();
}

int main(int argc, char **argv)
{
	unsigned times = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 0;
	double seconds = argc > 1 ? atof(argv[1]) / 1000 : 0.001;
	const char *next = argc > 4 ? argv[4] : argv[0];
	char rest[16];

	/* Not counting the time of the kernel, the dynamic linker or the program before an exec. */
	seconds += used_seconds();
	if (argc > 2 && strcmp(argv[2], "-") != 0)
		(void)prctl(PR_SET_NAME, argv[2]);
	work_for(seconds);
	if (times) {
		(void)snprintf(rest, sizeof(rest), "%u", times - 1);
		(void)execl(next, next, argv[1], argv[2], rest, argc > 4 ? argv[0] : NULL,
			(char *)NULL);
		perror("exec");
		return 1;
	}
	return 0;
}
