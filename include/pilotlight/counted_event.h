/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An event that the user named, such as "cache-misses" or "sched:sched_process_exec", on its way to
 * the capture host. The unprivileged side has looked up what the name means.
 */
#pragma once

#include "pilotlight/event.h"

#include <stdint.h>

enum { PILOTLIGHT_EVENT_NAME_BYTES = 64 };

enum pilotlight_counted_kind {
	PILOTLIGHT_COUNTED_NONE, /* the place is free: all other fields are 0 */
	PILOTLIGHT_COUNTED_PERF, /* of the PMU, or of the kernel's software: type and config */
	PILOTLIGHT_COUNTED_TRACEPOINT, /* its name is SUBSYSTEM:NAME */
	/* In a program's code. Its places do not come from the engine (capture/capture_probe.h). */
	PILOTLIGHT_COUNTED_PROBE,
	PILOTLIGHT_COUNTED_KINDS,
};

struct pilotlight_counted_event {
	/* As the history calls it: printable ASCII without '/' and '"', and zeros to the end. */
	char name[PILOTLIGHT_EVENT_NAME_BYTES];
	uint64_t config, config1; /* as in struct perf_event_attr */
	uint32_t type;
	uint8_t kind; /* enum pilotlight_counted_kind */
	uint8_t excludes_user, excludes_kernel;
	uint8_t precise_ip;
};
_Static_assert(sizeof(struct pilotlight_counted_event) == 88, "padding");
