/* SPDX-License-Identifier: GPL-2.0-or-later */
/* threads [SECONDS [COUNT]]: COUNT (4) threads, worker-0 and so on, each in worker_work(). */
#include "work.h"

#include <pthread.h>

enum { THREADS_MAX = 64 };

struct worker {
	pthread_t thread;
	double seconds;
	unsigned number;
};

static NOINLINE uint64_t worker_work(uint64_t seed)
{
	return work_units(1000, seed) + 1;
}

static void *run_worker(void *argument)
{
	const struct worker *worker = argument;
	uint64_t seed = worker->number;
	char name[16];

	(void)snprintf(name, sizeof(name), "worker-%u", worker->number);
	(void)pthread_setname_np(pthread_self(), name);
	while (own_seconds() < worker->seconds)
		seed = worker_work(seed);
	keep(seed);
	return NULL;
}

int main(int argc, char **argv)
{
	double seconds = number_argument(argc, argv, 1, 5);
	unsigned count = (unsigned)number_argument(argc, argv, 2, 4);
	struct worker workers[THREADS_MAX];

	if (count > THREADS_MAX)
		count = THREADS_MAX;
	for (unsigned i = 0; i < count; i++) {
		int r;

		workers[i] = (struct worker){ .seconds = seconds, .number = i };
		r = pthread_create(&workers[i].thread, NULL, run_worker, &workers[i]);
		if (r) {
			(void)fprintf(stderr, "threads: %s\n", strerror(r));
			return 1;
		}
	}
	for (unsigned i = 0; i < count; i++)
		(void)pthread_join(workers[i].thread, NULL);
	return 0;
}
