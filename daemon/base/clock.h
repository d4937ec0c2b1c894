/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The clocks used in profiles. */
#pragma once

#include <stdint.h>

enum { NSEC_PER_SEC = 1000000000 };

/* CLOCK_MONOTONIC, as bpf_ktime_get_ns() and the side-band's records have it. */
uint64_t clock_monotonic_ns(void);

/* Since 1970, CLOCK_REALTIME. */
uint64_t clock_realtime_ns(void);

/*
 * CLOCK_REALTIME at a moment of CLOCK_MONOTONIC, which is not long ago: late by the time between
 * two reads of clocks, and never early.
 */
uint64_t clock_realtime_at(uint64_t monotonic_ns);

/* CLOCK_BOOTTIME: CLOCK_MONOTONIC plus the time in suspend. */
uint64_t clock_boottime_ns(void);

/* CPU time of the calling process, user and system, all threads. */
uint64_t clock_process_cpu_ns(void);

/* CPU time of the calling thread. */
uint64_t clock_thread_cpu_ns(void);

/* CPU time, user and system, as reported by getrusage(2) and wait4(2). */
struct rusage;
uint64_t clock_rusage_cpu_ns(const struct rusage *usage);
