/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "query/incident_subject.h"

#include "base/array.h"

#include <stdio.h>
#include <string.h>

/* Longer names may have been cut; see describe() and add_unit() in engine/service_incidents.c. */
enum { WHOLE_NAME_BYTES = 80 };

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
bool incident_subject(const struct incident *incident, const char **ret_parameter,
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

bool incident_subject_value(const struct incident *incident, const char **ret_parameter,
	char ret_value[INCIDENT_SUBJECT_BYTES])
{
	char name[INCIDENT_TEXT_BYTES + 1];
	bool is_whole;
	size_t size = 0;

	if (!incident_subject(incident, ret_parameter, name, &is_whole))
		return false;
	for (const char *at = name; *at; at++) {
		const bool is_literal = is_whole && strchr("*?[", *at);

		size += (size_t)snprintf(ret_value + size, INCIDENT_SUBJECT_BYTES - size,
			is_literal ? "[%c]" : "%c", *at);
	}
	return true;
}
