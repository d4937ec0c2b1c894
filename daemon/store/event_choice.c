/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/event_choice.h"

#include <stdio.h>
#include <string.h>

void event_choice_init(struct event_choice *choice, const char *event)
{
	enum pilotlight_source source = PILOTLIGHT_SOURCE_CPU;

	*choice = (struct event_choice){ .event = event };
	if (event && strcmp(event, event_source_wall.name) == 0)
		choice->source = &event_source_wall;
	else if (!event || event_source_find(event, &source))
		choice->source = &event_sources[source];
}

static bool takes_cpu(struct event_choice *choice, const char *event)
{
	if (!choice->cpu_event[0])
		(void)snprintf(choice->cpu_event, sizeof(choice->cpu_event), "%s", event);
	if (strcmp(choice->cpu_event, event) == 0)
		return true;
	choice->is_partial = true;
	return false;
}

static bool takes(struct event_choice *choice, const char *event)
{
	enum pilotlight_source source;

	if (!choice->source)
		return strcmp(choice->event, event) == 0;
	if (!event_source_index(event, &source))
		return false;
	if (choice->source == &event_source_wall ? !event_source_is_of_wall(source)
						 : choice->source != &event_sources[source])
		return false;
	return source != PILOTLIGHT_SOURCE_CPU || takes_cpu(choice, event);
}

bool event_choice_takes(struct event_choice *choice, const char *event)
{
	bool is_taken = takes(choice, event);

	choice->has_others |= !is_taken;
	return is_taken;
}

const char *event_choice_name(const struct event_choice *choice, const char *event)
{
	return choice->source == &event_source_wall ? event_source_wall.name : event;
}

bool event_choice_counts_time(const struct event_choice *choice, const char *event)
{
	return choice->source != &event_source_wall ||
	       event_source_has(&event_sources[PILOTLIGHT_SOURCE_CPU], event);
}
