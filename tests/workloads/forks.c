/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * forks [RATE [SECONDS]]: forks RATE (5000) children a second, or as many as the machine can,
 * without exec. Each child ends at once. Prints the number of children.
 */
#include "work.h"

#include <signal.h>

int main(int argc, char **argv)
{
	double rate = number_argument(argc, argv, 1, 5000),
	       seconds = number_argument(argc, argv, 2, 5);
	double begin = now_seconds(CLOCK_MONOTONIC), now = begin;
	const struct timespec pause = { .tv_nsec = 1000000 };
	unsigned long started = 0;

	/* The kernel reaps the children. */
	(void)signal(SIGCHLD, SIG_IGN);
	while (now < begin + seconds) {
		pid_t pid = -1;

		if ((double)started < (now - begin) * rate)
			pid = fork();
		if (pid == 0)
			_exit(0);
		if (pid > 0)
			started++;
		else
			(void)nanosleep(&pause, NULL);
		now = now_seconds(CLOCK_MONOTONIC);
	}
	(void)printf("%lu\n", started);
	return 0;
}
