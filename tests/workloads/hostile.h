/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the programs that pass for runtimes share: chance, and threads. Their memory is a struct
 * program, which lies in each run, and changes while it is read. */
#pragma once

#include "work.h"

#include <pthread.h>
#include <stddef.h>

enum { THREADS = 4 }; /* every second one only changes what the others show */

static double end_s; /* by CLOCK_MONOTONIC */

static inline int goes_on(void)
{
	return now_seconds(CLOCK_MONOTONIC) < end_s;
}

static inline uint64_t draw(uint64_t *random, uint64_t bound)
{
	*random = *random * 6364136223846793005u + 1442695040888963407u;
	return (*random >> 20) % bound;
}

/* Numbers and addresses that lead on, to nothing, and to where no program may read. */
static inline uint64_t draw_word(uint64_t *random, const void *memory, size_t bytes)
{
	static const uint64_t odd[] = { 0, 1, UINT64_MAX, 0xffff888000000000, 0x7ffffffff000,
		0x8000000000000000, 1ULL << 60, 0x7fffffff, 0xffffffff, 0xffff, 0xc0c0c0c0c0c0c0c0,
		0x0101010101010101 };

	if (draw(random, 3) > 0)
		return (uint64_t)(uintptr_t)((const uint64_t *)memory +
					     draw(random, bytes / sizeof(uint64_t)));
	return odd[draw(random, sizeof(odd) / sizeof(odd[0]))];
}

/* Some words are others. */
static inline void make_rubbish_of(void *memory, size_t bytes, uint64_t *random)
{
	uint64_t *words = memory;

	for (size_t i = 0; i < 120; i++)
		words[draw(random, bytes / sizeof(uint64_t))] = draw_word(random, memory, bytes);
}

/* Lengths at the bounds of those who read them. */
static inline uint64_t draw_length(uint64_t *random)
{
	static const uint64_t lengths[] = { 0, 1, 127, 128, 129, 4095, 4096, 4097, 65535, 1 << 24,
		1 << 28, (1 << 28) + 1, INT32_MAX, UINT32_MAX, INT64_MAX, UINT64_MAX };

	return lengths[draw(random, sizeof(lengths) / sizeof(lengths[0]))];
}

/* run() gets the number of its thread. Returns the exit status. */
static inline int run_threads(void *(*run)(void *number))
{
	pthread_t threads[THREADS];
	size_t started = 0;

	while (started < THREADS &&
		pthread_create(&threads[started], NULL, run, (void *)(uintptr_t)started) == 0)
		started++;
	for (size_t i = 0; i < started; i++)
		(void)pthread_join(threads[i], NULL);
	return started == THREADS ? 0 : 1;
}
