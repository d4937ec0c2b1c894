/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The work of the workloads. It is counted, not timed, so each function's share follows from the
 * source. A unit is a chain of dependent multiplications, whose speed does not depend on the
 * code's alignment.
 */
#pragma once

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

/* About 0.4 µs on a current machine. */
enum { UNIT_STEPS = 300 };

/* Compilers give a leaf function a frame only if it asks for the frame's address. Without one,
 * unwinding by frame pointers would skip the caller. */
static NOINLINE __attribute__((unused)) uint64_t work_units(uint64_t units, uint64_t seed)
{
	__asm__ volatile("" : : "r"(__builtin_frame_address(0)));
	for (uint64_t i = 0; i < units * UNIT_STEPS; i++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		__asm__ volatile("" : "+r"(seed));
	}
	return seed;
}

static inline double now_seconds(clockid_t clock)
{
	struct timespec now;

	(void)clock_gettime(clock, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* CPU time of this thread: a workload has as many samples on a busy machine, too. */
static inline double own_seconds(void)
{
	return now_seconds(CLOCK_THREAD_CPUTIME_ID);
}

/* Returns the argument `index`, or `fallback` if it is absent. Ends the program if it is no number.
 */
static inline double number_argument(int argc, char **argv, int index, double fallback)
{
	char *end;
	double value;

	if (index >= argc)
		return fallback;
	value = strtod(argv[index], &end);
	if (end == argv[index] || *end || !(value >= 0) || value > 1e9) {
		(void)fprintf(stderr, "%s: not a number: %s\n", argv[0], argv[index]);
		exit(2);
	}
	return value;
}

/*
 * Shuffles the items uniformly. Turns in a fixed order could be in step with the regular samples,
 * and one turn would get all samples.
 */
static inline void shuffle(uint8_t *items, unsigned count, uint64_t *random)
{
	for (unsigned i = count - 1; i > 0; i--) {
		unsigned j;
		uint8_t item = items[i];

		*random = *random * 6364136223846793005u + 1442695040888963407u;
		j = (unsigned)(*random >> 33) % (i + 1);
		items[i] = items[j];
		items[j] = item;
	}
}

/* Keeps the compiler from removing the work that computed the result. */
static inline void keep(uint64_t value)
{
	__asm__ volatile("" : : "r"(value));
}
