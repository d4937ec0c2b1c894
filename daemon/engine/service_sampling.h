/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the service samples, as in struct capture_settings. */
#pragma once

#include "pilotlight/counted_event.h"
#include "pilotlight/event.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct service_sampling {
	uint32_t sources;  /* bit mask of 1 << enum pilotlight_source */
	uint32_t surveyed; /* those of them that surveys sample */
	/* 0 for CPU time and for sources that are off. */
	uint64_t periods[PILOTLIGHT_SOURCES];
	/* Of the sources from PILOTLIGHT_SOURCE_COUNTED on; all zeros for those that are off. */
	struct pilotlight_counted_event counted[PILOTLIGHT_COUNTED_EVENTS];
};

static inline bool service_sampling_equals(
	const struct service_sampling *one, const struct service_sampling *other)
{
	return one->sources == other->sources && one->surveyed == other->surveyed &&
	       memcmp(one->periods, other->periods, sizeof(one->periods)) == 0 &&
	       memcmp(one->counted, other->counted, sizeof(one->counted)) == 0;
}

/* Those that are sampled by programs at their events. An order may turn them on in place of
 * surveys. */
static inline uint32_t service_sampling_exact(const struct service_sampling *sampling)
{
	return sampling->sources & ~sampling->surveyed;
}

/* The place of an event by its name; PILOTLIGHT_SOURCES: it is not sampled. */
static inline enum pilotlight_source service_sampling_find(
	const struct service_sampling *sampling, const char *name)
{
	for (unsigned i = 0; i < PILOTLIGHT_COUNTED_EVENTS; i++)
		if (sampling->sources & 1U << (PILOTLIGHT_SOURCE_COUNTED + i) &&
			strcmp(sampling->counted[i].name, name) == 0)
			return (enum pilotlight_source)(PILOTLIGHT_SOURCE_COUNTED + i);
	return PILOTLIGHT_SOURCES;
}
