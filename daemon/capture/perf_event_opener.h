/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Opens perf events that sample all processes of one CPU. CAP_PERFMON permits it, except on kernels
 * with an addition by Debian and Ubuntu: they require CAP_SYS_ADMIN where
 * kernel.perf_event_paranoid is 3 or more, as these distributions set it. Then the events are
 * opened by a service which has that capability and does nothing else (perf_event_service.h). One
 * owner, one thread.
 */
#pragma once

#include <linux/perf_event.h>
#include <stdint.h>

struct perf_event_opener {
	const char *service; /* the path of its socket, borrowed; NULL: no service */
	int fd;		     /* the connection to it; -1: none yet */
	uint64_t retry_ns;   /* after a timeout: when to ask again; CLOCK_MONOTONIC */
};

void perf_event_opener_init(struct perf_event_opener *opener, const char *service);
void perf_event_opener_done(struct perf_event_opener *opener);

/*
 * Tries it in this process, and asks the service if the kernel refuses. `opener` NULL: there is no
 * service. Returns a descriptor that the caller owns, or -errno of perf_event_open(2). -ETIMEDOUT:
 * within ten seconds the service gave no valid answer; it is asked again after a minute. If no
 * service listens, returns the kernel's refusal.
 */
int perf_event_opener_open(
	struct perf_event_opener *opener, const struct perf_event_attr *attr, uint32_t cpu);
