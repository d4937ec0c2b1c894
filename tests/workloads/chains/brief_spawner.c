/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * RATE SECONDS MILLISECONDS PROGRAM...: starts RATE processes a second, of each program in turn,
 * with up to MILLISECONDS of work each. Before that it starts two processes of each program, one
 * after the other, named `first`. Starts fewer if the machine is too slow. Prints the number of
 * processes.
 */
#include "../children.h"

#include <spawn.h>

enum { RUNNING_MAX = 8, FIRST_OF_EACH = 2, FIRST_MILLISECONDS = 300, SIZES = 5 };

extern char **environ;

static void start_process(char *program, double milliseconds, char *comm)
{
	char number[32];
	char *arguments[] = { program, number, comm, NULL };
	pid_t pid;

	(void)snprintf(number, sizeof(number), "%.2f", milliseconds);
	errno = posix_spawn(&pid, program, NULL, NULL, arguments, environ);
	if (errno) {
		perror(program);
		exit(1);
	}
}

int main(int argc, char **argv)
{
	double rate = number_argument(argc, argv, 1, 1000),
	       seconds = number_argument(argc, argv, 2, 5),
	       longest = number_argument(argc, argv, 3, 5), begin;
	unsigned long started, programs = argc > 4 ? (unsigned long)argc - 4 : 0;
	unsigned running = 0;

	if (rate < 1 || !programs) {
		(void)fprintf(stderr, "a rate of at least 1, and programs\n");
		return 2;
	}
	for (unsigned long i = 0; i < FIRST_OF_EACH * programs; i++) {
		start_process(argv[4 + i % programs], FIRST_MILLISECONDS, "first");
		(void)reap(1, 0);
	}
	begin = now_seconds(CLOCK_MONOTONIC);
	for (started = 0; started < (unsigned long)(rate * seconds); started++) {
		double due = begin + (double)started / rate;

		if (now_seconds(CLOCK_MONOTONIC) > begin + seconds)
			break;
		wait_until(due);
		start_process(argv[4 + started % programs],
			longest * (double)(started % SIZES + 1) / SIZES, "-");
		running = reap(running + 1, RUNNING_MAX);
	}
	(void)reap(running, 0);
	(void)printf("%lu\n", started);
	return 0;
}
