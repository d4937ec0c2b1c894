/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a name of an event means, by perf's conventions: "cache-misses", "instructions:u",
 * "LLC-load-misses", "r01c4", an event that the kernel lists for the CPU's PMU, or a tracepoint
 * "sched:sched_process_exec". Reads only what the kernel writes.
 */
#pragma once

#include "base/fault.h"
#include "pilotlight/counted_event.h"

#include <stdint.h>

#define EVENT_NAME_PMU "/sys/bus/event_source/devices/cpu"

/*
 * Finds the event. `pmu` is the folder of the CPU's PMU, EVENT_NAME_PMU. `ret_period` is what one
 * sample should stand for if the user says nothing: about a thousand samples a second of a busy
 * CPU, or fewer. Returns 0, or -EINVAL with a fault.
 */
int event_name_find(const char *name, const char *pmu, struct pilotlight_counted_event *ret_event,
	uint64_t *ret_period, struct fault *fault);
