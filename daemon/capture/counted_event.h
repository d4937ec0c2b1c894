/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An event that the user named, on the privileged side: which ones are opened at all. A client is
 * not trusted (I8): it gets no events that change the kernel or show users' memory, such as probes
 * and breakpoints.
 */
#pragma once

#include "pilotlight/counted_event.h"

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

/* One that a limited client may sample, and how often at most. */
struct counted_limit {
	struct pilotlight_counted_event event;
	uint64_t least_period;
};

enum { COUNTED_LIMITS_MAX = 32 };

/* Is it an event of the kernel's software (PERF_COUNT_SW_…) that counts, and no time? */
bool counted_event_is_software(uint64_t config);

/* Is the place used well: by an event that may be opened, or by none? */
bool counted_event_is_valid(const struct pilotlight_counted_event *event);

/*
 * Is it one of the tracepoints at a kernel lock? One may be hit while this CPU holds or takes the
 * lock of the ring to which samples go.
 */
bool counted_event_is_of_locks(const struct pilotlight_counted_event *event);

/*
 * Fills in the attributes for perf_event_open(), of all but probes. `tracing` is the folder of
 * tracefs. Returns 0; -ENOENT: the kernel has no such tracepoint; or another -errno.
 */
int counted_event_describe(const struct pilotlight_counted_event *event, uint64_t period,
	const char *tracing, struct perf_event_attr *ret_attr);
