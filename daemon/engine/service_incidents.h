/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Incidents of the service: by thresholds, measured as each window ends, and by users. An incident
 * goes to the history with the window in which it happened.
 */
#pragma once

#include "aggregate/profile.h"
#include "base/fault.h"
#include "steer/incident_trigger.h"
#include "store/incident_log.h"

#include <stdbool.h>

struct config;

enum { SERVICE_PRESSURES = 3 };

struct service_incidents {
	struct incident_trigger trigger;
	uint64_t keep_ns;
	int pressure_fds[SERVICE_PRESSURES]; /* of /proc/pressure; -1: the kernel has none */
	struct incident waiting;	     /* for the end of the window */
	bool is_waiting;
};

/* Opens what the engine cannot open later. */
void service_incidents_open(struct service_incidents *incidents);
void service_incidents_done(struct service_incidents *incidents);

/* Takes new thresholds; what has fired stays known. */
void service_incidents_configure(struct service_incidents *incidents, const struct config *config);

/* Measures at the end of a window of CPU time, and may make an incident wait. */
void service_incidents_measure(struct service_incidents *incidents, const struct profile *window);

/* A user's incident. Returns 0; -EBUSY: another one waits for the end of this window. */
int service_incidents_note(struct service_incidents *incidents, const char *text);

/* The incident that goes with a window, or NULL. Valid until the next call of a function here. */
const struct incident *service_incidents_take(struct service_incidents *incidents);

/* Tells the journal that an incident is in the history. */
void service_incidents_log(const struct incident *incident);
