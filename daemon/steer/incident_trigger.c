/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "steer/incident_trigger.h"

#include <stdlib.h>
#include <string.h>

#define DAY_NS	    (86400ULL * 1000000000ULL)
#define WAIT_MAX_NS (3600ULL * 1000000000ULL) /* after it, a unit's load has become usual */
#define TOGETHER_NS (30ULL * 1000000000ULL)   /* an incident's comparison ends so long after it */
#define FALLEN	    0.75 /* of its threshold, so that a measure near it is one incident */

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

static bool is_high(
	const struct incident_trigger *trigger, enum incident_cause cause, double measure)
{
	const bool was_high = trigger->is_high[cause] || trigger->risen_ns[cause] > 0;
	const double threshold = trigger->settings.thresholds[cause];

	return threshold > 0 && measure >= threshold * (was_high ? FALLEN : 1);
}

static bool is_day_full(const struct incident_trigger *trigger, uint64_t now_ns)
{
	return trigger->day == (uint32_t)(now_ns / DAY_NS) &&
	       trigger->of_day >= trigger->settings.per_day;
}

/* A clock that was set back does not make it wait. */
static bool is_cooling(const struct incident_trigger *trigger, uint64_t now_ns)
{
	return trigger->last_ns > 0 && now_ns >= trigger->last_ns &&
	       now_ns - trigger->last_ns < trigger->settings.cool_down_ns;
}

uint64_t incident_trigger_told_until(const struct incident_trigger *trigger, uint64_t now_ns)
{
	const uint64_t waits_from_ns = now_ns > WAIT_MAX_NS ? now_ns - WAIT_MAX_NS : 0;
	const uint64_t together_ns = trigger->last_ns + TOGETHER_NS;

	if (is_day_full(trigger, now_ns))
		return now_ns;
	return is_cooling(trigger, now_ns) && together_ns > waits_from_ns ? together_ns
									  : waits_from_ns;
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
	const double measures[INCIDENT_CAUSES], uint64_t now_ns, enum incident_cause *ret_cause,
	uint64_t *ret_risen_ns)
{
	const bool may_fire = !is_day_full(trigger, now_ns) && !is_cooling(trigger, now_ns);
	const uint64_t told_ns = incident_trigger_told_until(trigger, now_ns);
	bool has_fired = false;

	for (enum incident_cause i = 0; i < INCIDENT_CAUSES; i++) {
		bool is_now = is_high(trigger, i, measures[i]);
		bool has_risen =
			is_now && !trigger->is_high[i] && (trigger->has_measured || is_event(i));

		/* What is unknown neither rises nor falls. */
		if (measures[i] < 0)
			continue;
		if (has_risen && !is_event(i)) {
			if (trigger->risen_ns[i] == 0)
				trigger->risen_ns[i] = now_ns;
			has_risen = trigger->risen_ns[i] > told_ns;
		}
		/* It rises later, if it lasts. */
		if (has_risen && (has_fired || !may_fire))
			continue;
		if (has_risen) {
			fire(trigger, now_ns);
			*ret_cause = i;
			*ret_risen_ns = is_event(i) ? now_ns : trigger->risen_ns[i];
			has_fired = true;
		}
		trigger->is_high[i] = is_now && !is_event(i);
		trigger->risen_ns[i] = 0;
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
