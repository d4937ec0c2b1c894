/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Measures the sections [metric NAME]: CPU time in functions, for /metrics. A query process counts
 * new windows of the history, for all metrics together, so that their names and patterns cost this
 * process nothing and its crash costs one measurement. Sampling never waits for it (I5).
 *
 * A measurement waits until no symbol file is being made, within a bound: what gets its name later
 * stays counted as unnamed. It covers all windows since the last one. If one fails, the next, an
 * `interval_ns` later, covers its windows, too. Time beyond `catch_up_ns`, and time whose windows
 * cannot be read, is skipped and counted. If the clock is set back, windows of the repeated time
 * count twice. Numbers begin at zero with the engine. One owner, one thread.
 */
#pragma once

#include "api/service_status.h"
#include "base/cleanup.h"
#include "broker/broker.h"
#include "config/config.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct function_meter;

struct function_meter_options {
	const struct config_metric *metrics; /* borrowed */
	size_t metric_count;
	struct broker *broker;		    /* borrowed; starts the query processes */
	const char *program;		    /* theirs; NULL: /proc/self/exe */
	const char *history, *symbol_cache; /* folders, borrowed */
	uint64_t catch_up_ns;
	/* Least time between two measurements; 0: a minute. How long one waits for names; 0: 30 s.
	 */
	uint64_t interval_ns, name_wait_ns;
};

/* Returns 0, -ENOMEM, or -errno. */
int function_meter_new(
	const struct function_meter_options *options, struct function_meter **ret_meter);
/* Kills a query process that still runs. */
void function_meter_free(struct function_meter *meter);
DEFINE_CLEANUP(struct function_meter, function_meter_free);

/* The history is complete up to `until_ns` (CLOCK_REALTIME), the exact end of a window. */
void function_meter_sealed(struct function_meter *meter, uint64_t until_ns);

/* Readable when function_meter_run() has work; borrowed. */
int function_meter_poll_fd(const struct function_meter *meter);
/* Does what is due. Call it also about once a second. */
void function_meter_run(struct function_meter *meter, bool are_names_pending);

/* What it has measured, valid until the next call of function_meter_run(). */
const struct service_status_meter *function_meter_status(const struct function_meter *meter);
