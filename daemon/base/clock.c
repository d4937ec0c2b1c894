/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/clock.h"

#include <sys/resource.h>
#include <time.h>

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
