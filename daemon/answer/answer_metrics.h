/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The metrics of a question for CPU time in functions (query/function_metric.h). The answer is an
 * array of struct answer_metric_value: for each metric what was selected, what had no name, and
 * then what matched, by group.
 */
#pragma once

#include "base/fault.h"
#include "base/output.h"
#include "query/function_metric.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ANSWER_METRICS_MAX = 16, ANSWER_METRIC_SERIES_MAX = 64, ANSWER_METRIC_LABEL_BYTES = 128 };

/* The groups that are too many. A thread may call itself so: it is then counted with them. */
#define ANSWER_METRIC_OTHER "[other]"

enum answer_metric_kind {
	ANSWER_METRIC_SELECTED = 1,
	ANSWER_METRIC_UNNAMED,
	ANSWER_METRIC_MATCHED,
};

struct answer_metric_value {
	uint64_t ns;	 /* of CPU time */
	uint32_t metric; /* its position among the question's */
	uint32_t kind;	 /* enum answer_metric_kind */
	char label[ANSWER_METRIC_LABEL_BYTES];
};

struct answer_metrics {
	struct function_metric *items[ANSWER_METRICS_MAX]; /* owned */
	uint32_t series_max[ANSWER_METRICS_MAX];
	size_t count;
};

void answer_metrics_done(struct answer_metrics *metrics);

/* Is this the name of a parameter of metrics? */
bool answer_metrics_has_parameter(const char *name);

/*
 * Adds a parameter to the last metric; "metric" begins the next one. Returns 0, -ENOMEM, or -EINVAL
 * or -E2BIG with `fault`.
 */
int answer_metrics_add(
	struct answer_metrics *metrics, const char *name, const char *value, struct fault *fault);

/* Returns 0 or -ENOMEM; errors of writing stay in the output. */
int answer_metrics_write(
	const struct answer_metrics *metrics, const struct profile *profile, struct output *output);
