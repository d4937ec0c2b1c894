/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The plain numbers of a report, in one table with their JSON and Prometheus names, so that both
 * formats report all of them; and the labelled counters. Code elsewhere writes texts and lists.
 */
#pragma once

#include "api/report.h"

#include <stdbool.h>
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

/* An array of counters in struct accounts: an object in JSON, a metric with a label. */
struct report_counters {
	const char *key;    /* in JSON */
	const char *metric; /* without "pilotlight_" */
	const char *label, *help;
	size_t offset, count;
	const char *const *names; /* NULL: accounts_drop_name() */
};

enum { REPORT_COUNTERS = 5, REPORT_NAME_BYTES = 32 };
enum { REPORT_DROPPED = 1 }; /* the position of the counters by reason */
extern const struct report_counters report_counters[REPORT_COUNTERS];

uint64_t report_counter_get(
	const struct report_counters *counters, const struct accounts *accounts, size_t i);
/* Writes the name of one counter, in snake_case, into `name`, and returns it. */
const char *report_counter_name(
	const struct report_counters *counters, size_t i, char name[REPORT_NAME_BYTES]);

/* What became of samples of allocations that are not among what lives. */
struct report_outcome {
	const char *key;  /* in JSON and metrics */
	const char *text; /* after a number */
	size_t offset;	  /* of its uint64_t in struct live_counters */
};
enum { REPORT_OUTCOMES = 5 };
extern const struct report_outcome report_outcomes[REPORT_OUTCOMES];
uint64_t report_outcome_get(
	const struct report_outcome *outcome, const struct live_counters *counters);

/* What users share; indexed by enum user_resource. */
struct report_resource {
	const char *key;     /* in JSON and metrics */
	const char *label;   /* in text */
	const char *refused; /* in text, after a number */
	bool is_bytes;	     /* what is held; else a number */
};
extern const struct report_resource report_resources[USER_RESOURCES];
