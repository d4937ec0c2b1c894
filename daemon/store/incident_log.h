/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The incidents of a history: moments that somebody, or a trigger, wants to look at later. The
 * windows around an incident are never merged, so they keep their time resolution until their day
 * is removed.
 *
 * They are lines of the file "incidents" in the history's folder, the oldest first:
 *
 *	1 NUMBER TIME FROM TO CAUSE TEXT
 *
 * with the version of the line, times in ns since 1970, and a text up to the end of the line. Lines
 * that are not so are ignored. The file is replaced as a whole, so a crash leaves the old or the
 * new one. At INCIDENTS_MAX the oldest are dropped (I4).
 */
#pragma once

#include "base/fault.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { INCIDENTS_MAX = 512, INCIDENT_CAUSE_BYTES = 24, INCIDENT_TEXT_BYTES = 160 };

struct incident {
	uint64_t number;		   /* from 1 on, never used again */
	uint64_t time_ns;		   /* CLOCK_REALTIME */
	uint64_t kept_from_ns, kept_to_ns; /* CLOCK_REALTIME */
	char cause[INCIDENT_CAUSE_BYTES];  /* one word: "manual", "cpu-pressure" */
	char text[INCIDENT_TEXT_BYTES];	   /* valid UTF-8 that may be shown */
};

struct incident_list {
	struct incident *items; /* owned, the oldest first */
	size_t count;
};

void incident_list_done(struct incident_list *list);

/* Finds an incident by its number; NULL: there is none. */
const struct incident *incident_list_find(const struct incident_list *list, uint64_t number);

/*
 * The times whose windows are kept. The writer holds these for as long as it runs: whole incidents
 * would take thirteen times as much of its memory.
 */
struct incident_times {
	struct incident_time {
		uint64_t from_ns, to_ns; /* CLOCK_REALTIME */
	} items[INCIDENTS_MAX];
	size_t count;
};

void incident_list_times(const struct incident_list *list, struct incident_times *ret_times);

/* Does an incident keep windows of this time? */
bool incident_times_keep(const struct incident_times *times, uint64_t start_ns, uint64_t end_ns);

/* Copies a text of any bytes; what may not be shown becomes U+FFFD, and what is too long is cut. */
void incident_set_text(struct incident *incident, const char *text);

/* A missing file has none. Returns 0, -ENOMEM, or -errno with `fault`. */
int incident_log_read(const char *folder, struct incident_list *ret_list, struct fault *fault);

/*
 * Adds an incident with the next number, which it gets. `list` is what the file has; on success it
 * has the incident, too. Returns 0, -ENOMEM, or -errno with `fault`.
 */
int incident_log_add(const char *folder, struct incident_list *list, struct incident *incident,
	struct fault *fault);
