/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * incident hog|convoy|squeeze SECONDS [FILE]: what makes an incident. hog: one thread computes.
 * convoy: eight threads take turns with one lock, and compute while they hold it. squeeze: reads
 * FILE again and again, which must be larger than the cgroup's limit of memory.
 */
#include "work.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>

enum { CONVOY_THREADS = 8, CONVOY_UNITS = 2, HOG_UNITS = 100, PART_BYTES = 1 << 16 };

static double end;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static NOINLINE uint64_t incident_hog(uint64_t seed)
{
	return work_units(HOG_UNITS, seed) + 1;
}

static NOINLINE uint64_t incident_convoy(uint64_t seed)
{
	(void)pthread_mutex_lock(&lock);
	seed = work_units(CONVOY_UNITS, seed);
	(void)pthread_mutex_unlock(&lock);
	return seed;
}

static void *run_convoy(void *context)
{
	uint64_t seed = 1;

	(void)context;
	while (now_seconds(CLOCK_MONOTONIC) < end)
		seed = incident_convoy(seed);
	keep(seed);
	return NULL;
}

static NOINLINE uint64_t incident_squeeze(int fd, uint64_t seed)
{
	static char part[PART_BYTES];
	off_t at = 0;
	ssize_t size;

	while ((size = pread(fd, part, sizeof(part), at)) > 0 &&
		now_seconds(CLOCK_MONOTONIC) < end) {
		at += size;
		seed += (unsigned char)part[0];
	}
	return seed;
}

static int run(const char *kind, const char *file)
{
	pthread_t threads[CONVOY_THREADS];
	uint64_t seed = 1;
	int fd;

	if (strcmp(kind, "convoy") == 0) {
		for (int i = 0; i < CONVOY_THREADS; i++)
			if (pthread_create(&threads[i], NULL, run_convoy, NULL) != 0)
				return 1;
		for (int i = 0; i < CONVOY_THREADS; i++)
			(void)pthread_join(threads[i], NULL);
		return 0;
	}
	fd = strcmp(kind, "squeeze") == 0 ? open(file, O_RDONLY | O_CLOEXEC) : -1;
	while (now_seconds(CLOCK_MONOTONIC) < end)
		seed = fd < 0 ? incident_hog(seed) : incident_squeeze(fd, seed);
	keep(seed);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	end = now_seconds(CLOCK_MONOTONIC) + number_argument(argc, argv, 2, 10);
	return run(argv[1], argc > 3 ? argv[3] : "/dev/null");
}
