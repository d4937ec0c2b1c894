/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "answer/answer_metrics.h"

#include "base/array.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(struct answer_metric_value) == 16 + ANSWER_METRIC_LABEL_BYTES, "no padding");
_Static_assert(sizeof(((struct function_metric_sum *)NULL)->label) == ANSWER_METRIC_LABEL_BYTES,
	"a label fits");

void answer_metrics_done(struct answer_metrics *metrics)
{
	for (size_t i = 0; i < metrics->count; i++)
		function_metric_free(metrics->items[i]);
	*metrics = (struct answer_metrics){ 0 };
}

bool answer_metrics_has_parameter(const char *name)
{
	static const char *const names[] = { "metric", "select", "function", "count", "by",
		"series" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

static int begin(struct answer_metrics *metrics, struct fault *fault)
{
	int r;

	if (metrics->count == ANSWER_METRICS_MAX)
		return fault_set(fault, -E2BIG, "more than %d metrics", ANSWER_METRICS_MAX);
	r = function_metric_new(&metrics->items[metrics->count]);
	if (r < 0)
		return r;
	metrics->series_max[metrics->count++] = ANSWER_METRIC_SERIES_MAX;
	return 0;
}

/* "unit:nginx.service" */
static int select_threads(struct function_metric *metric, const char *value, struct fault *fault)
{
	const char *colon = strchr(value, ':');
	char name[32];

	if (!colon || (size_t)(colon - value) >= sizeof(name))
		return fault_set(fault, -EINVAL, "select takes PARAMETER:VALUE");
	memcpy(name, value, (size_t)(colon - value));
	name[colon - value] = '\0';
	return function_metric_select(metric, name, colon + 1, fault);
}

static int set_group(struct function_metric *metric, const char *value, struct fault *fault)
{
	enum function_metric_group group = function_metric_group_find(value);

	if (group == FUNCTION_METRIC_GROUPS)
		return fault_set(fault, -EINVAL, "by takes none, unit, container or comm");
	function_metric_set_group(metric, group);
	return 0;
}

static int set_series(uint32_t *series_max, const char *value, struct fault *fault)
{
	unsigned long count = strtoul(value, NULL, 10);

	if (strspn(value, "0123456789") != strlen(value) || count == 0 ||
		count > ANSWER_METRIC_SERIES_MAX)
		return fault_set(fault, -EINVAL, "series takes 1 to %d", ANSWER_METRIC_SERIES_MAX);
	*series_max = (uint32_t)count;
	return 0;
}

int answer_metrics_add(
	struct answer_metrics *metrics, const char *name, const char *value, struct fault *fault)
{
	struct function_metric *last;

	if (strcmp(name, "metric") == 0)
		return begin(metrics, fault);
	if (metrics->count == 0)
		return fault_set(fault, -EINVAL, "%.20s comes before a metric", name);
	last = metrics->items[metrics->count - 1];
	if (strcmp(name, "select") == 0)
		return select_threads(last, value, fault);
	if (strcmp(name, "function") == 0)
		return function_metric_set_pattern(last, value, fault);
	if (strcmp(name, "by") == 0)
		return set_group(last, value, fault);
	if (strcmp(name, "series") == 0)
		return set_series(&metrics->series_max[metrics->count - 1], value, fault);
	function_metric_set_self(last, strcmp(value, "self") == 0);
	return 0;
}

static void write_value(
	struct output *output, const struct answer_metric_value *value, const char *label)
{
	struct answer_metric_value written = *value;

	(void)snprintf(written.label, sizeof(written.label), "%s", label);
	output_write(output, &written, sizeof(written));
}

static void write_result(const struct function_metric_result *result, size_t metric,
	uint32_t series_max, uint64_t period_ns, struct output *output)
{
	struct answer_metric_value value = { .metric = (uint32_t)metric };
	uint64_t rest = 0;

	value.kind = ANSWER_METRIC_SELECTED;
	value.ns = result->selected * period_ns;
	write_value(output, &value, "");
	value.kind = ANSWER_METRIC_UNNAMED;
	value.ns = result->unnamed * period_ns;
	write_value(output, &value, "");
	value.kind = ANSWER_METRIC_MATCHED;
	for (size_t i = 0; i < result->count; i++) {
		value.ns = result->sums[i].samples * period_ns;
		if (i < series_max)
			write_value(output, &value, result->sums[i].label);
		else
			rest += value.ns;
	}
	value.ns = rest;
	if (rest > 0)
		write_value(output, &value, ANSWER_METRIC_OTHER);
}

int answer_metrics_write(
	const struct answer_metrics *metrics, const struct profile *profile, struct output *output)
{
	for (size_t i = 0; i < metrics->count; i++) {
		struct function_metric_result result;
		int r = function_metric_run(metrics->items[i], profile, &result);

		if (r < 0)
			return r;
		write_result(&result, i, metrics->series_max[i], profile->period_ns, output);
		function_metric_result_done(&result);
	}
	return 0;
}
