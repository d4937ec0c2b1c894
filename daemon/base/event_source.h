/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table of event sources: what a sample counts. A sample stands for periods of its source, so
 * its count times the period is an amount, such as nanoseconds off CPU or a number of page faults.
 *
 * A profile, and a window of the history, names its event. "cpu-clock" and "cycles" are events of
 * the source "cpu"; every other source has one event, of its own name. Only the sources of events
 * that the user names have any others: "cache-misses", "sched:sched_process_exec". "wall" is no
 * source but a sum: time on CPU, off CPU and waiting for a CPU.
 */
#pragma once

#include "pilotlight/event.h"

#include <stdbool.h>
#include <stdint.h>

/* What an amount is counted in. */
enum event_unit {
	EVENT_UNIT_TIME,
	EVENT_UNIT_BYTES,
	EVENT_UNIT_COUNT,
};

struct event_source {
	const char *name;	/* as in --event and event=: "cpu" */
	const char *title;	/* "CPU time"; NULL: that of the event is its name */
	const char *unit;	/* of a period: "nanoseconds", "bytes" or "count", pprof's words */
	const char *noun;	/* of unit "count", in the singular: "fault" */
	const char *pprof_type; /* "cpu"; without '-', which Pyroscope refuses; NULL: the name */
	/* In the unit; 0: the sampling rate decides. */
	uint64_t default_period; /* of `record` */
	uint64_t service_period;
	uint64_t least_period, greatest_period; /* what the sampler takes */
	const char *cost; /* measured; a part of a sentence; NULL: only while it is on */
	/* Cheap and bounded whatever runs, so AllowEvents=cheap of the service allows it. */
	bool is_cheap;
	/* A window has what is there at its end, so amounts of windows do not add up: a longer time
	 * has those of its last window. */
	bool is_live;
};

extern const struct event_source event_sources[PILOTLIGHT_SOURCES];
extern const struct event_source event_source_wall;

/* Finds a source by its name. */
bool event_source_find(const char *name, enum pilotlight_source *ret_source);

/*
 * Parses names of sources with any of `separators` between them to a bit mask of 1 << enum
 * pilotlight_source. "wall" stands for its parts. Returns false for an unknown name, which begins
 * at `ret_unknown`.
 */
bool event_source_parse_set(
	const char *text, const char *separators, uint32_t *ret_sources, const char **ret_unknown);

/* Those that are cheap. */
uint32_t event_source_cheap(void);

/*
 * The source of an event, or event_source_wall. Any unknown event is one that a user has named, and
 * is counted. A profile without an event is of CPU time.
 */
const struct event_source *event_source_of(const char *event);

/*
 * The leaf of a stack whose thread did not run: "[blocked]", "[blocked: I/O]". It keeps the stacks
 * of several sources apart in a sum. NULL for sources that sample threads that run.
 */
const char *event_source_wait(enum pilotlight_source source, enum pilotlight_wait wait);

/* Does it count the kernel's memory? Its samples have a kind (enum pilotlight_kmem_kind). */
bool event_source_is_kmem(enum pilotlight_source source);

/* Does it count block I/O? Its samples have a disk beside the operation. */
bool event_source_is_block(enum pilotlight_source source);

/* Is it an event of this source? Unlike event_source_of(), knows no unknown ones. */
bool event_source_has(const struct event_source *source, const char *event);

/* Finds the source that has this event. None has "wall", or an event of a later version. */
bool event_source_index(const char *event, enum pilotlight_source *ret_source);

/* Are its amounts told as numbers of samples, and its period as a rate? */
bool event_source_is_cpu(const struct event_source *source);

/* Is it a place for events that the user names? Its own name means nothing. */
bool event_source_is_counted(enum pilotlight_source source);

/* What an event of the source is: "page faults", or the name of an event that the user named. */
const char *event_source_title(const char *event);

/*
 * The type of an event's amounts in formats whose types are identifiers: "off_cpu", or of an event
 * that the user named its name, cut to the room, with '_' for what no identifier has:
 * "sched_sched_process_exec". Returns `text` or a literal.
 */
enum { EVENT_TYPE_BYTES = 128 };
const char *event_source_type(const char *event, char text[EVENT_TYPE_BYTES]);

/* Is it a part of "wall"? */
bool event_source_is_of_wall(enum pilotlight_source source);

enum event_unit event_source_unit(const struct event_source *source);
