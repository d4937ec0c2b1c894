/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Incidents of the service: by thresholds, measured as each window ends, and by users. An incident
 * goes to the history with the window in which it happened.
 */
#pragma once

#include "aggregate/profile_set.h"
#include "base/fault.h"
#include "steer/incident_trigger.h"
#include "steer/throttling.h"
#include "steer/unit_usage.h"
#include "store/incident_log.h"

#include <stdbool.h>

struct config;

enum { SERVICE_PRESSURES = 3, SERVICE_INCIDENTS_WAITING = 4 };

struct service_incidents {
	struct incident_trigger trigger;
	uint64_t keep_ns;
	int pressure_fds[SERVICE_PRESSURES]; /* of /proc/pressure; -1: the kernel has none */
	int vmstat_fd;			     /* of /proc/vmstat */
	double kills;			     /* of processes, at the last measure; -1: unknown */
	struct throttling throttling;
	struct unit_usage units;
	/* For the end of a window, which takes one: those by thresholds, then the oldest first. */
	struct incident waiting[SERVICE_INCIDENTS_WAITING];
	size_t waiting_count;
	unsigned unwritten; /* by thresholds, until they are in the history */
	struct incident taken;
};

/* Opens what the engine cannot open later. The throttling of cgroups needs its folder also then. */
void service_incidents_open(struct service_incidents *incidents);
void service_incidents_done(struct service_incidents *incidents);

/* Takes new thresholds; what has fired stays known. */
void service_incidents_configure(struct service_incidents *incidents, const struct config *config);

/* Counts what earlier engines have noted by thresholds. */
void service_incidents_recall(struct service_incidents *incidents, const char *history);

/* Measures at the end of a window, and may make an incident wait. */
void service_incidents_measure(
	struct service_incidents *incidents, const struct profile_set *window);

/* A user's incident. Returns 0; -EBUSY: too many wait for the end of a window. */
int service_incidents_note(struct service_incidents *incidents, const char *text);

/* The incident that goes with a window, or NULL. Valid until the next call of this function. */
const struct incident *service_incidents_take(struct service_incidents *incidents);

/* An incident that could not be written waits for the next window, unless too many do. */
void service_incidents_give_back(
	struct service_incidents *incidents, const struct incident *incident);

/* An incident is in the history: tells the journal. */
void service_incidents_written(
	struct service_incidents *incidents, const struct incident *incident);
