/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * spawner [RATE [SECONDS [MAX_MILLISECONDS]]]: starts RATE processes a second of the program
 * short_lived in this program's folder, each with 1 to MAX_MILLISECONDS (5) of CPU time. Starts
 * fewer if the machine is too slow. Prints the number of processes.
 */
#include "children.h"

enum { CHILDREN_MAX = 256 };

static void find_child(char *path, size_t size)
{
	static const char name[] = "short_lived";
	ssize_t length = readlink("/proc/self/exe", path, size - sizeof(name));
	char *slash;

	if (length < 0) {
		perror("/proc/self/exe");
		exit(1);
	}
	path[length] = '\0';
	slash = strrchr(path, '/');
	memcpy(slash ? slash + 1 : path, name, sizeof(name));
}

static void start_child(const char *path, unsigned milliseconds)
{
	char argument[16];
	pid_t pid;

	(void)snprintf(argument, sizeof(argument), "%u", milliseconds);
	pid = fork();
	if (pid < 0) {
		perror("fork");
		exit(1);
	}
	if (pid == 0) {
		(void)execl(path, path, argument, (char *)NULL);
		_exit(127);
	}
}

int main(int argc, char **argv)
{
	double rate = number_argument(argc, argv, 1, 100),
	       seconds = number_argument(argc, argv, 2, 5);
	unsigned longest = (unsigned)number_argument(argc, argv, 3, 5);
	unsigned long wanted = (unsigned long)(rate * seconds), started;
	unsigned running = 0;
	char path[4096];
	double begin = now_seconds(CLOCK_MONOTONIC);

	if (rate < 1 || longest < 1) {
		(void)fprintf(stderr, "spawner: a rate and a time of at least 1\n");
		return 2;
	}
	find_child(path, sizeof(path));
	for (started = 0; started < wanted; started++) {
		double due = begin + (double)started / rate;

		if (now_seconds(CLOCK_MONOTONIC) > begin + seconds)
			break;
		wait_until(due);
		start_child(path, (unsigned)(started % longest) + 1);
		running = reap(running + 1, CHILDREN_MAX);
	}
	(void)reap(running, 0);
	(void)printf("%lu\n", started);
	return 0;
}
