/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * When a measure of the host becomes an incident: as it exceeds its threshold, and not again before
 * it was well below. A cool-down and a number a day bound how many there are. Plain values.
 *
 * One overload is one incident: what has risen until shortly after an incident, and lasts into its
 * cool-down, belongs to it. What rises later waits for the end of the cool-down, for an hour at
 * most, and is an incident of the time at which it rose. Once a day has its number, nothing waits.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* In the order in which they are noted, if several rise in one window: what names its culprit comes
 * first. */
enum incident_cause {
	/* Events: they have not been before. The owner may repeat one that was not noted. */
	INCIDENT_OOM_KILL, /* processes killed for lack of memory */
	/* A unit whose CPU time has risen (unit_usage.h), in percent of one CPU. */
	INCIDENT_UNIT_CPU,
	INCIDENT_THROTTLED, /* a cgroup's share that has risen (throttling.h), in percent */
	/* States: they rise above their threshold, and have fallen below 3/4 of it before. */
	INCIDENT_CPU_PRESSURE, /* pressure stall information: "some", of the last 10 s */
	INCIDENT_MEMORY_PRESSURE,
	INCIDENT_IO_PRESSURE,
	INCIDENT_HOST_CPU,  /* all CPUs, in the last window */
	INCIDENT_RUN_QUEUE, /* threads that waited for a CPU, on average, in percent of the CPUs */
	INCIDENT_CAUSES,
};

/* "cpu-pressure". */
const char *incident_cause_name(enum incident_cause cause);

struct incident_settings {
	uint32_t thresholds[INCIDENT_CAUSES]; /* in percent, or a number; 0: off */
	uint64_t cool_down_ns;
	uint32_t per_day;
};

struct incident_trigger {
	struct incident_settings settings;
	bool has_measured; /* what is high at the first measure has risen earlier */
	bool is_high[INCIDENT_CAUSES];
	uint64_t risen_ns[INCIDENT_CAUSES]; /* of states that wait; 0: it does not */
	uint64_t last_ns;		    /* CLOCK_REALTIME; 0: none yet */
	uint32_t day, of_day;
};

/* Counts an incident that an earlier process has noted by a threshold. In the order of times. */
void incident_trigger_recall(struct incident_trigger *trigger, uint64_t time_ns);

/* What rose until this time, and is still high, does not wait any longer at `now_ns`: it belongs to
 * an incident, or comes too late. The owner asks it for events, before it repeats them. */
uint64_t incident_trigger_told_until(const struct incident_trigger *trigger, uint64_t now_ns);

/*
 * Takes the measures at `now_ns` (CLOCK_REALTIME), in percent; below 0: unknown. Returns whether
 * there is an incident, its cause, and when that rose; of an event, the owner knows the latter.
 */
bool incident_trigger_check(struct incident_trigger *trigger,
	const double measures[INCIDENT_CAUSES], uint64_t now_ns, enum incident_cause *ret_cause,
	uint64_t *ret_risen_ns);

/* Reads "oom_kill 3" among the lines of /proc/vmstat. Returns the number, or -1. */
double incident_kills_parse(const char *text);

/* Reads "some avg10=1.23 ..." of /proc/pressure/cpu. Returns the percent, or -1. */
double incident_pressure_parse(const char *text);
