/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * crowd [SECONDS [COUNT [BUSY]]]: starts COUNT (10000) threads, or as many as the machine allows.
 * BUSY (2) threads always work; each other one works about 50 µs a second, so that all are sampled
 * now and then. Once all run, prints their number.
 */
#include "work.h"

#include <pthread.h>

enum { STACK_BYTES = 64 << 10, COUNT_MAX = 30000, TURN_UNITS = 100 };

struct crowd {
	double end;
	unsigned busy;
};

struct member {
	pthread_t thread;
	const struct crowd *crowd;
	unsigned number;
};

static NOINLINE uint64_t crowd_work(uint64_t seed)
{
	return work_units(TURN_UNITS, seed) + 1;
}

static void *run_member(void *argument)
{
	const struct member *member = argument;
	const struct timespec second = { .tv_sec = 1 };
	uint64_t seed = member->number;

	while (now_seconds(CLOCK_MONOTONIC) < member->crowd->end) {
		seed = crowd_work(seed);
		if (member->number >= member->crowd->busy)
			(void)nanosleep(&second, NULL);
	}
	keep(seed);
	return NULL;
}

static unsigned start_members(struct member *members, unsigned count, const struct crowd *crowd)
{
	pthread_attr_t attributes;
	unsigned started = 0;

	if (pthread_attr_init(&attributes) || pthread_attr_setstacksize(&attributes, STACK_BYTES)) {
		(void)fprintf(stderr, "crowd: a stack cannot be so small\n");
		exit(1);
	}
	for (; started < count; started++) {
		struct member *member = &members[started];

		*member = (struct member){ .crowd = crowd, .number = started };
		if (pthread_create(&member->thread, &attributes, run_member, member))
			break;
	}
	(void)pthread_attr_destroy(&attributes);
	return started;
}

int main(int argc, char **argv)
{
	double seconds = number_argument(argc, argv, 1, 5);
	unsigned count = (unsigned)number_argument(argc, argv, 2, 10000), started;
	struct crowd crowd = { .end = now_seconds(CLOCK_MONOTONIC) + seconds,
		.busy = (unsigned)number_argument(argc, argv, 3, 2) };
	struct member *members;

	if (count > COUNT_MAX)
		count = COUNT_MAX;
	members = calloc(count ? count : 1, sizeof(*members));
	if (!members) {
		perror("crowd");
		return 1;
	}
	started = start_members(members, count, &crowd);
	(void)printf("%u\n", started);
	(void)fflush(stdout);
	for (unsigned i = 0; i < started; i++)
		(void)pthread_join(members[i].thread, NULL);
	free(members);
	return 0;
}
