/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which windows a selection's event takes. The event is the name of a source, which takes its
 * windows; "wall", which takes those of its parts; or the event of a window. Windows of CPU time
 * are of "cpu-clock" or "cycles". Their samples count different things, so only one of the two is
 * taken: that of the first window.
 */
#pragma once

#include "base/event_source.h"

#include <stdbool.h>

enum { EVENT_CHOICE_NAME_BYTES = 64 };

struct event_choice {
	const char *event;			 /* as asked; borrowed */
	const struct event_source *source;	 /* NULL: the event alone */
	char cpu_event[EVENT_CHOICE_NAME_BYTES]; /* of CPU time; "": no window yet */
	bool has_others;			 /* windows were not taken */
	bool is_partial;			 /* among them windows of a chosen source */
};

/* NULL chooses CPU time. */
void event_choice_init(struct event_choice *choice, const char *event);

/* Does it take a window of this event? Call it for each window, in their order. */
bool event_choice_takes(struct event_choice *choice, const char *event);

/* The event of a profile to which a window of this event belongs: itself, or "wall". */
const char *event_choice_name(const struct event_choice *choice, const char *event);

/* Windows of several sources cover the same time, so those of one source alone count it. */
bool event_choice_counts_time(const struct event_choice *choice, const char *event);
