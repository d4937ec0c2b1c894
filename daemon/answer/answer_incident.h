/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which time an incident selects. */
#pragma once

#include "base/fault.h"
#include "store/incident_log.h"

/* Finds it by the digits of its number. Returns 0, -ENOMEM, or -errno with `fault`. */
int answer_incident_find(const char *history, const char *number, struct incident *ret_incident,
	struct fault *fault);

/*
 * Narrows what a threshold's incident keeps to the time around it, for a comparison: in the whole
 * time that is kept, ten minutes, what lasted for some seconds would be nothing. A user's may tell
 * of what follows, so it stays.
 */
void answer_incident_narrow(struct incident *incident);
