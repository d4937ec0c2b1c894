/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes the service's status as JSON, as readable text, and in Prometheus' text format 0.0.4.
 * These are pure functions; errors stay in the output. Strings from outside, such as process names,
 * may hold any bytes (I8).
 */
#pragma once

#include "api/service_status.h"
#include "serve/http_server.h"

#include <stdint.h>

struct output;

struct report_queries {
	uint64_t answered;
	uint64_t refused;   /* 4xx: wrong parameters, or no such data */
	uint64_t failed;    /* 5xx except timeouts */
	uint64_t timed_out; /* while waiting or running */
	uint64_t abandoned; /* the client left first */
	uint32_t running, waiting;
};

struct report {
	struct service_status service;
	struct http_counters http;
	struct report_queries queries;
};

/* Writes an object of objects. Numbers without a unit in their name are counts. */
void report_write_json(const struct report *report, struct output *output);
/* Writes at most 80 columns. Problems come first; zero values are left out. */
void report_write_text(const struct report *report, struct output *output);
/* Writes what each user holds of what users share, and what was refused; 64 users at most. A user's
 * name is alone on its line, and what follows is indented. */
void report_write_users(const struct report *report, struct output *output);
void report_write_metrics(const struct report *report, struct output *output);
