/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "push/metric_series.h"

#include "answer/answer_metrics.h"

#include <string.h>

static struct service_status_series *find(struct service_status_metric *metric, const char *label)
{
	for (size_t i = 0; i < metric->series_count; i++)
		if (strcmp(metric->series[i].label, label) == 0)
			return &metric->series[i];
	return NULL;
}

static struct service_status_series *add(struct service_status_metric *metric)
{
	return &metric->series[metric->series_count++];
}

/* A place for a new series; NULL: all have grown at this time. "[other]" keeps its own. */
static struct service_status_series *make_place(
	struct service_status_metric *metric, uint64_t measurement)
{
	struct service_status_series *oldest = NULL;
	size_t others = find(metric, ANSWER_METRIC_OTHER) != NULL;

	if (metric->series_max == 1 || metric->series_count - others < metric->series_max - 1)
		return metric->series_count < metric->series_max ? add(metric) : NULL;
	for (size_t i = 0; i < metric->series_count; i++) {
		struct service_status_series *series = &metric->series[i];

		if (strcmp(series->label, ANSWER_METRIC_OTHER) != 0 &&
			series->grown_at < measurement &&
			(!oldest || series->grown_at < oldest->grown_at))
			oldest = series;
	}
	return oldest;
}

void metric_series_add(
	struct service_status_metric *metric, const char *label, uint64_t ns, uint64_t measurement)
{
	struct service_status_series *series = find(metric, label);

	if (!series && strcmp(label, ANSWER_METRIC_OTHER) != 0) {
		series = make_place(metric, measurement);
		if (series)
			*series = (struct service_status_series){ 0 };
		else
			label = ANSWER_METRIC_OTHER;
	}
	if (!series)
		series = find(metric, label);
	/* Its place is reserved. */
	if (!series && metric->series_count < metric->series_max)
		series = add(metric);
	if (!series)
		return;
	if (series->grown_at == 0)
		memcpy(series->label, label, strlen(label) + 1);
	series->ns += ns;
	series->grown_at = measurement;
}
