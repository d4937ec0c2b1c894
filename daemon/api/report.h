/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How the service is, as it is told: as JSON, as text for people, and in Prometheus' text format
 * 0.0.4. Pure functions of what they are given; errors are those of the output. What comes from
 * outside, such as the names of processes, may be anything (I8).
 */
#pragma once

#include "api/service_status.h"
#include "serve/http_server.h"

#include <stdint.h>

struct output;

struct report_queries {
	uint64_t answered;
	uint64_t refused;   /* 4xx: what they ask for makes no sense, or is not there */
	uint64_t failed;    /* 5xx but for the next */
	uint64_t timed_out; /* in their turn or before it */
	uint64_t abandoned; /* nobody waited for them any more */
	uint32_t running, waiting;
};

struct report {
	struct service_status service;
	struct http_counters http;
	struct report_queries queries;
};

/* An object of objects; numbers whose names have no unit are counts. */
void report_write_json(const struct report *report, struct output *output);
/* At most 80 columns; what is wrong comes first, and what is nothing is left out. */
void report_write_text(const struct report *report, struct output *output);
void report_write_metrics(const struct report *report, struct output *output);
