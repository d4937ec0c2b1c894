/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The plain numbers of a report, in one table with their JSON and Prometheus names, so that both
 * formats report all of them. Code elsewhere writes fields with labels, texts or lists.
 */
#pragma once

#include "api/report.h"

#include <stddef.h>
#include <stdint.h>

enum report_unit {
	REPORT_NUMBER,	    /* written unchanged; also bytes and Hz */
	REPORT_NANOSECONDS, /* written in seconds */
	REPORT_BOOLEAN,
	REPORT_PPM,	   /* a ratio in metrics */
	REPORT_PPM_DOUBLE, /* a ratio in metrics; the field is a double */
};

struct report_field {
	const char *group, *key; /* in JSON; a group's fields are adjacent in the table */
	const char *metric;	 /* without "pilotlight_"; counters end with "_total" */
	const char *help;
	size_t offset; /* in struct report */
	size_t bytes;  /* 4 or 8; 1 for booleans */
	enum report_unit unit;
};

extern const struct report_field report_fields[];
extern const size_t report_field_count;

/* Returns the field's value. Rounds REPORT_PPM_DOUBLE; 0 if it is negative or not finite. */
uint64_t report_field_get(const struct report_field *field, const struct report *report);

/* Enumeration names in snake_case, for JSON keys and metric labels. */
enum { REPORT_NAME_BYTES = 32 };
const char *report_drop_name(enum pilotlight_drop reason, char name[REPORT_NAME_BYTES]);
const char *report_path_name(enum pilotlight_path path);
const char *report_event_name(enum pilotlight_event event);
const char *report_walker_name(enum pilotlight_walker walker);
const char *report_walk_end_name(enum pilotlight_walk_end end);
