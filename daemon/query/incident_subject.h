/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The unit, container or cgroup that an incident is about. */
#pragma once

#include "store/incident_log.h"

#include <stdbool.h>

/* Room for a name whose bytes all become bracket expressions, and the NUL. */
enum { INCIDENT_SUBJECT_BYTES = 3 * INCIDENT_TEXT_BYTES + 1 };

/*
 * The parameter of a selection that chooses what a threshold has found, and its value, which is its
 * whole name, or a glob. Returns false if the incident is about the host.
 */
bool incident_subject(const struct incident *incident, const char **ret_parameter,
	char ret_value[INCIDENT_TEXT_BYTES + 1], bool *ret_is_whole);

/*
 * The same with a value that a user could give: a name with characters of globs becomes a glob that
 * matches it alone. A container's name also matches longer ones that begin so.
 */
bool incident_subject_value(const struct incident *incident, const char **ret_parameter,
	char ret_value[INCIDENT_SUBJECT_BYTES]);
