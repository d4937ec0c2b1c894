/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What an incident selects: its time, and the unit or cgroup that it is about. */
#pragma once

#include "base/fault.h"
#include "store/incident_log.h"

#include <stdbool.h>

/* Finds it by the digits of its number. Returns 0, -ENOMEM, or -errno with `fault`. */
int answer_incident_find(const char *history, const char *number, struct incident *ret_incident,
	struct fault *fault);

/*
 * Narrows what a threshold's incident keeps to the time around it, for a comparison: in the whole
 * time that is kept, ten minutes, what lasted for some seconds would be nothing. A user's may tell
 * of what follows, so it stays.
 */
void answer_incident_narrow(struct incident *incident);

/*
 * The parameter of a selection that chooses what a threshold has found, and its value, which is its
 * whole name, or a glob. Returns false if the incident is about the host.
 */
bool answer_incident_subject(const struct incident *incident, const char **ret_parameter,
	char ret_value[INCIDENT_TEXT_BYTES + 1], bool *ret_is_whole);
