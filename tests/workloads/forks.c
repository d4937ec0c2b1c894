/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * forks [RATE [SECONDS]]: forks RATE (5000) times a second, or as often as the machine can, without
 * exec; a child ends at once. Prints how many it has started.
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

	/* Nobody waits for them: the kernel takes them away. */
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
