/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "answer/answer_incident.h"

#include "base/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A threshold is measured at the end of a window, some of them on average of ten seconds, and what
 * it has noted may go on. */
#define BEFORE_NS (20ULL * NSEC_PER_SEC)
#define AFTER_NS  (30ULL * NSEC_PER_SEC)

int answer_incident_find(
	const char *history, const char *number, struct incident *ret_incident, struct fault *fault)
{
	const struct incident *incident = NULL;
	struct incident_list list = { 0 };
	int r = incident_log_read(history, &list, fault);

	if (r < 0)
		return r;
	if (*number && strspn(number, "0123456789") == strlen(number))
		incident = incident_list_find(&list, strtoull(number, NULL, 10));
	if (incident)
		*ret_incident = *incident;
	incident_list_done(&list);
	return incident ? 0
			: fault_set(fault, -EINVAL,
				  "no such incident; `pilotlight incidents` lists them");
}

void answer_incident_narrow(struct incident *incident)
{
	if (strcmp(incident->cause, "manual") == 0)
		return;
	if (incident->time_ns > incident->kept_from_ns + BEFORE_NS)
		incident->kept_from_ns = incident->time_ns - BEFORE_NS;
	if (incident->kept_to_ns > incident->time_ns + AFTER_NS)
		incident->kept_to_ns = incident->time_ns + AFTER_NS;
}
