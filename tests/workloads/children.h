/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pacing and reaping of children, for workloads that start processes at a given rate. */
#pragma once

#include "work.h"

#include <sys/wait.h>

/* Reaps ended children, and waits for one if too many run. Returns the number that still run. */
static unsigned reap(unsigned running, unsigned allowed)
{
	int status;

	while (running) {
		pid_t pid = waitpid(-1, &status, running > allowed ? 0 : WNOHANG);

		if (pid == 0)
			break;
		if (pid < 0 || !WIFEXITED(status) || WEXITSTATUS(status)) {
			(void)fprintf(stderr, "a child failed\n");
			exit(1);
		}
		running--;
	}
	return running;
}

/* Waits until `due`, in seconds of CLOCK_MONOTONIC. */
static void wait_until(double due)
{
	struct timespec next = { .tv_sec = (time_t)due };

	next.tv_nsec = (long)((due - (double)next.tv_sec) * 1e9);
	(void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
}
