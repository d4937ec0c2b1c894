/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "answer/answer_incident.h"

#include "base/array.h"
#include "base/clock.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Longer names may have been cut; see describe() and add_unit() in engine/service_incidents.c. */
enum { WHOLE_NAME_BYTES = 80 };

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

static bool is_unit(const char *name)
{
	static const char *const endings[] = { ".service", ".scope", ".mount", ".socket", ".swap",
		".slice" };
	const char *dot = strrchr(name, '.');

	for (size_t i = 0; dot && i < ARRAY_SIZE(endings); i++)
		if (strcmp(dot, endings[i]) == 0)
			return true;
	/* Names of containers are shorter. */
	return strlen(name) > WHOLE_NAME_BYTES;
}

/* "NAME: 85.0 % of a CPU, usually 0.1 %" */
bool answer_incident_subject(const struct incident *incident, const char **ret_parameter,
	char ret_value[INCIDENT_TEXT_BYTES + 1], bool *ret_is_whole)
{
	const char *end = NULL;

	if (strcmp(incident->cause, "unit-cpu") != 0 && strcmp(incident->cause, "throttled") != 0)
		return false;
	/* A cgroup's path may have anything in it; what follows has no colon. */
	for (const char *at = incident->text; (at = strstr(at, ": ")); at++)
		end = at;
	if (!end || end == incident->text)
		return false;
	(void)snprintf(ret_value, INCIDENT_TEXT_BYTES + 1, "%.*s", (int)(end - incident->text),
		incident->text);
	*ret_is_whole = end - incident->text < WHOLE_NAME_BYTES;
	if (!*ret_is_whole)
		(void)strcat(ret_value, "*");
	*ret_parameter = ret_value[0] == '/' ? "cgroup" : is_unit(ret_value) ? "unit" : "container";
	return true;
}
