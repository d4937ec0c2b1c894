/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "steer/incident_trigger.h"

#include <stdlib.h>
#include <string.h>

#define DAY_NS (86400ULL * 1000000000ULL)
#define FALLEN 0.75 /* of its threshold, so that a measure near it is one incident */

const char *incident_cause_name(enum incident_cause cause)
{
	static const char *const names[INCIDENT_CAUSES] = {
		[INCIDENT_OOM_KILL] = "oom-kill",
		[INCIDENT_UNIT_CPU] = "unit-cpu",
		[INCIDENT_THROTTLED] = "throttled",
		[INCIDENT_CPU_PRESSURE] = "cpu-pressure",
		[INCIDENT_MEMORY_PRESSURE] = "memory-pressure",
		[INCIDENT_IO_PRESSURE] = "io-pressure",
		[INCIDENT_HOST_CPU] = "host-cpu",
		[INCIDENT_RUN_QUEUE] = "run-queue",
	};

	return names[cause];
}

static bool is_event(enum incident_cause cause)
{
	return cause <= INCIDENT_THROTTLED;
}

/* What is unknown neither rises nor falls. */
static bool is_high(
	const struct incident_trigger *trigger, enum incident_cause cause, double measure)
{
	const double threshold = trigger->settings.thresholds[cause];

	if (measure < 0)
		return trigger->is_high[cause];
	return threshold > 0 && measure >= threshold * (trigger->is_high[cause] ? FALLEN : 1);
}

/* A clock that was set back does not make it wait. */
static bool may_fire(const struct incident_trigger *trigger, uint64_t now_ns)
{
	uint32_t day = (uint32_t)(now_ns / DAY_NS);

	if (trigger->day == day && trigger->of_day >= trigger->settings.per_day)
		return false;
	return trigger->last_ns == 0 || now_ns < trigger->last_ns ||
	       now_ns - trigger->last_ns >= trigger->settings.cool_down_ns;
}

static void fire(struct incident_trigger *trigger, uint64_t now_ns)
{
	uint32_t day = (uint32_t)(now_ns / DAY_NS);

	if (trigger->day != day)
		trigger->of_day = 0;
	trigger->day = day;
	trigger->of_day++;
	trigger->last_ns = now_ns;
}

void incident_trigger_recall(struct incident_trigger *trigger, uint64_t time_ns)
{
	fire(trigger, time_ns);
}

bool incident_trigger_check(struct incident_trigger *trigger,
	const double measures[INCIDENT_CAUSES], uint64_t now_ns, enum incident_cause *ret_cause)
{
	bool has_fired = false;

	for (enum incident_cause i = 0; i < INCIDENT_CAUSES; i++) {
		bool is_now = is_high(trigger, i, measures[i]);
		bool has_risen =
			is_now && !trigger->is_high[i] && (trigger->has_measured || is_event(i));

		/* It rises later, if it lasts. */
		if (has_risen && (has_fired || !may_fire(trigger, now_ns)))
			continue;
		trigger->is_high[i] = is_now && !is_event(i);
		if (!has_risen)
			continue;
		fire(trigger, now_ns);
		*ret_cause = i;
		has_fired = true;
	}
	trigger->has_measured = true;
	return has_fired;
}

double incident_kills_parse(const char *text)
{
	static const char key[] = "\noom_kill ";
	const char *at = strstr(text, key);

	if (!at || at[sizeof(key) - 1] < '0' || at[sizeof(key) - 1] > '9')
		return -1;
	return strtod(at + sizeof(key) - 1, NULL);
}

double incident_pressure_parse(const char *text)
{
	static const char start[] = "some avg10=";
	double percent;
	char *end;

	if (strncmp(text, start, sizeof(start) - 1) != 0)
		return -1;
	text += sizeof(start) - 1;
	if (*text < '0' || *text > '9')
		return -1;
	percent = strtod(text, &end);
	return *end == ' ' && percent <= 100 ? percent : -1;
}
