/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What Events= and AllowEvents= name: events of base/event_source.h, events of perf, and
 * tracepoints. One may be followed by a period of its own, as with perf: `faults/period=1009/`.
 */
#pragma once

#include "capture/counted_event.h"
#include "config/config_knob.h"
#include "pilotlight/event.h"

#include <stddef.h>
#include <stdint.h>

struct config_events {
	uint32_t sources; /* of event_source.h: bit mask of 1 << enum pilotlight_source */
	uint64_t periods[PILOTLIGHT_SOURCES]; /* 0: none is given */
	struct counted_limit counted[COUNTED_LIMITS_MAX];
	size_t counted_count;
};

/*
 * Adds an event by its name. Returns 0, or -EINVAL with the problem and its remedy in `reason`;
 * then nothing was added.
 */
int config_events_add(
	struct config_events *events, const char *text, char reason[CONFIG_REASON_BYTES]);

/* Parses AllowEvents=: names separated by blanks or commas; or cheap, all or none. Returns 0 or
 * -EINVAL. */
int config_events_parse_allowed(
	const char *text, struct config_events *ret_events, char reason[CONFIG_REASON_BYTES]);

/* Events= and AllowEvents= of a configuration, which were checked when it was read. */
void config_events_read(const struct config *config, struct config_events *ret_events);
void config_events_read_allowed(const struct config *config, struct config_events *ret_events);
