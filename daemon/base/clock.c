/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/clock.h"

#include <sys/resource.h>
#include <time.h>

enum { CLOCK_READS = 8, CLOCK_READ_NS = 20000 };

static uint64_t now_ns(clockid_t clock)
{
	struct timespec now;

	if (clock_gettime(clock, &now) < 0)
		return 0;
	return (uint64_t)now.tv_sec * NSEC_PER_SEC + (uint64_t)now.tv_nsec;
}

uint64_t clock_monotonic_ns(void)
{
	return now_ns(CLOCK_MONOTONIC);
}

uint64_t clock_realtime_ns(void)
{
	return now_ns(CLOCK_REALTIME);
}

/* This thread may lose its CPU between two reads, so the closest two of some are taken. */
uint64_t clock_realtime_at(uint64_t monotonic_ns)
{
	uint64_t least_ns = UINT64_MAX, result_ns = 0;

	for (int i = 0; i < CLOCK_READS && least_ns > CLOCK_READ_NS; i++) {
		const uint64_t before_ns = clock_monotonic_ns(), now_ns = clock_realtime_ns();
		const uint64_t took_ns = clock_monotonic_ns() - before_ns;

		if (took_ns >= least_ns)
			continue;
		least_ns = took_ns;
		result_ns = now_ns - (before_ns - monotonic_ns);
	}
	return result_ns;
}

uint64_t clock_boottime_ns(void)
{
	return now_ns(CLOCK_BOOTTIME);
}

uint64_t clock_process_cpu_ns(void)
{
	return now_ns(CLOCK_PROCESS_CPUTIME_ID);
}

uint64_t clock_thread_cpu_ns(void)
{
	return now_ns(CLOCK_THREAD_CPUTIME_ID);
}

uint64_t clock_rusage_cpu_ns(const struct rusage *usage)
{
	return (uint64_t)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * NSEC_PER_SEC +
	       (uint64_t)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) * 1000;
}
