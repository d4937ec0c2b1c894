/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "answer/answer_takes.h"

#include "answer/answer_metrics.h"
#include "base/utf8.h"
#include "query/selection.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum {
	PROFILE = 1 << ANSWER_PROFILE,
	DIFFERENCE = 1 << ANSWER_DIFFERENCE,
	HEATMAP = 1 << ANSWER_HEATMAP,
	TIMELINE = 1 << ANSWER_TIMELINE,
	INCIDENTS = 1 << ANSWER_INCIDENTS,
	METRICS = 1 << ANSWER_METRICS,
	KINDS_BYTES = 128,
};

static const struct {
	const char *name;
	unsigned kinds;
	const char *formats; /* as a message has them, no name being a part of another; NULL: all */
} values[ANSWER_VALUES] = {
	[ANSWER_VALUE_FORMAT] = { "format", PROFILE | DIFFERENCE | HEATMAP | INCIDENTS, NULL },
	[ANSWER_VALUE_INCIDENT] = { "incident", PROFILE | DIFFERENCE | HEATMAP | INCIDENTS, NULL },
	[ANSWER_VALUE_LINES] = { "lines", PROFILE | DIFFERENCE, NULL },
	[ANSWER_VALUE_RUNTIME_FRAMES] = { "runtime-frames", PROFILE | DIFFERENCE, NULL },
	/* Where samples have labels, these tell it. */
	[ANSWER_VALUE_GROUP] = { "group", PROFILE | DIFFERENCE,
		"svg, folded, html, json, txt or top" },
	[ANSWER_VALUE_ROWS] = { "rows", PROFILE | DIFFERENCE, "txt or top" },
	[ANSWER_VALUE_FRAMES] = { "frames", PROFILE, "json or html" },
	[ANSWER_VALUE_BELOW] = { "below", PROFILE, "json or html" },
	[ANSWER_VALUE_LABELS] = { "labels", PROFILE, "pprof, otlp or clickhouse" },
	[ANSWER_VALUE_TIMES] = { "times", PROFILE, "pprof or otlp" },
	[ANSWER_VALUE_NORMALISE] = { "normalise", DIFFERENCE, NULL },
	[ANSWER_VALUE_BUCKETS] = { "buckets", TIMELINE, NULL },
	[ANSWER_VALUE_BY] = { "by", TIMELINE, NULL },
	[ANSWER_VALUE_ATTRIBUTES] = { "attributes", PROFILE, NULL },
	[ANSWER_VALUE_SAMPLE_HOSTS] = { "sample-hosts", PROFILE, NULL },
	[ANSWER_VALUE_LATE_NAMES] = { "late-names", PROFILE, "parca" },
};

enum answer_value answer_value_find(const char *name)
{
	enum answer_value i = 0;

	while (i < ANSWER_VALUES && strcmp(values[i].name, name) != 0)
		i++;
	return i;
}

/* A time line and metrics are read without filters, a heat map without spans. */
static unsigned kinds_of_selection(const char *name)
{
	if (!selection_has_parameter(name))
		return 0;
	if (selection_is_time(name) || strcmp(name, "event") == 0)
		return PROFILE | DIFFERENCE | HEATMAP | TIMELINE | METRICS;
	if (strcmp(name, "windows") == 0)
		return PROFILE | DIFFERENCE | HEATMAP | METRICS;
	if (strcmp(name, "trace") == 0 || strcmp(name, "span") == 0)
		return PROFILE | DIFFERENCE;
	return PROFILE | DIFFERENCE | HEATMAP;
}

static unsigned kinds_of(const char *name)
{
	const enum answer_value value = answer_value_find(name);
	unsigned kinds = value < ANSWER_VALUES ? values[value].kinds : kinds_of_selection(name);

	return answer_metrics_has_parameter(name) ? kinds | METRICS : kinds;
}

bool answer_takes(enum answer_kind kind, const char *name)
{
	static const char against[] = "against.";
	const size_t size = sizeof(against) - 1;
	const enum answer_value value = answer_value_find(name);

	if (strncmp(name, against, size) == 0)
		return kind == ANSWER_DIFFERENCE && selection_has_parameter(name + size);
	return (value < ANSWER_VALUE_ATTRIBUTES || value == ANSWER_VALUES) &&
	       kinds_of(name) & 1U << kind;
}

/* "a profile, a difference or a heat map" */
static void list_kinds(unsigned kinds, char text[KINDS_BYTES])
{
	static const char *const titles[ANSWER_KINDS] = {
		[ANSWER_PROFILE] = "a profile",
		[ANSWER_DIFFERENCE] = "a difference",
		[ANSWER_HEATMAP] = "a heat map",
		[ANSWER_TIMELINE] = "a time line",
		[ANSWER_INCIDENTS] = "a list of incidents",
	};
	size_t used = 0;

	for (unsigned kind = ANSWER_PROFILE; kinds != 0; kind++) {
		if (!(kinds & 1U << kind))
			continue;
		kinds &= ~(1U << kind);
		used += (size_t)snprintf(text + used, KINDS_BYTES - used, "%s%s",
			used == 0    ? ""
			: kinds == 0 ? " or "
				     : ", ",
			titles[kind]);
	}
}

int answer_takes_check(enum answer_kind kind, const char *name, struct fault *fault)
{
	const unsigned kinds = kinds_of(name);
	char text[KINDS_BYTES], clean[UTF8_CLEAN_BYTES];

	if (kinds & 1U << kind)
		return 0;
	/* No client asks for metrics. */
	if ((kinds & ~METRICS) == 0) {
		(void)utf8_clean(clean, name, strlen(name));
		return fault_set(fault, -EINVAL,
			"unknown parameter \"%.40s\"; selections have last, from, to, pid, comm, "
			"exe, unit and more",
			clean);
	}
	list_kinds(kinds & ~METRICS, text);
	return fault_set(fault, -EINVAL, "%s is only for %s; ask for one, or omit it", name, text);
}

int answer_takes_check_format(enum answer_value value, const char *format, struct fault *fault)
{
	const char *formats = values[value].formats;

	if (!formats || strstr(formats, format))
		return 0;
	return fault_set(fault, -EINVAL, "no %s in %s; use %s, or omit it", values[value].name,
		format, formats);
}
