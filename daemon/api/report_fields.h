/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The numbers of a report that stand for themselves: one table of what they are called in JSON and
 * for Prometheus, so that neither forgets one. What has labels, text or lists is written by hand.
 */
#pragma once

#include "api/report.h"

#include <stddef.h>
#include <stdint.h>

enum report_unit {
	REPORT_NUMBER,	    /* as it is; also bytes and Hz */
	REPORT_NANOSECONDS, /* told in seconds */
	REPORT_BOOLEAN,
	REPORT_PPM,	   /* told as a ratio in metrics */
	REPORT_PPM_DOUBLE, /* likewise */
};

struct report_field {
	const char *group, *key; /* of JSON; the fields of a group stand together */
	const char *metric;	 /* behind "pilotlight_"; of a counter with "_total" */
	const char *help;
	size_t offset; /* in struct report */
	size_t bytes;  /* 4 or 8; 1 of booleans */
	enum report_unit unit;
};

extern const struct report_field report_fields[];
extern const size_t report_field_count;

/* Of REPORT_PPM_DOUBLE rounded; 0 where it is not finite or negative. */
uint64_t report_field_get(const struct report_field *field, const struct report *report);

/* What has a number and a name: snake_case, for keys and labels. */
enum { REPORT_NAME_BYTES = 32 };
const char *report_drop_name(enum pilotlight_drop reason, char name[REPORT_NAME_BYTES]);
const char *report_path_name(enum pilotlight_path path);
const char *report_event_name(enum pilotlight_event event);
const char *report_walker_name(enum pilotlight_walker walker);
const char *report_walk_end_name(enum pilotlight_walk_end end);
