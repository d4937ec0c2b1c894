/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The values of parameters that choose the output. */
#include "answer/answer_reading.h"

#include "query/host_sample.h"
#include "render/frame_path.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { BUCKETS_DEFAULT = 1000, ROWS_DIGITS = 6 };

static int set_text_format(struct reading *reading)
{
	const char *name =
		reading->values[ANSWER_VALUE_FORMAT] ? reading->values[ANSWER_VALUE_FORMAT] : "txt";

	if (strcmp(name, "txt") != 0 && strcmp(name, "json") != 0)
		return fault_set(reading->fault, -EINVAL, "unknown format; use txt or json");
	reading->parameters->format = profile_format_find(name);
	return 0;
}

static int set_heatmap_format(struct reading *reading, const struct profile_format *format)
{
	if (!format || (strcmp(format->name, "svg") != 0 && strcmp(format->name, "html") != 0 &&
			       strcmp(format->name, "json") != 0))
		return fault_set(reading->fault, -EINVAL,
			"unknown format of a heat map; use svg, html or json");
	reading->parameters->format = format;
	return 0;
}

static int set_format(struct reading *reading)
{
	const struct profile_format *format =
		reading->values[ANSWER_VALUE_FORMAT]
			? profile_format_find(reading->values[ANSWER_VALUE_FORMAT])
			: &profile_formats[0];
	bool is_difference = reading->request->kind == ANSWER_DIFFERENCE;
	const char *name = format ? format->name : "";

	if (reading->request->kind == ANSWER_INCIDENTS)
		return set_text_format(reading);
	if (reading->request->kind == ANSWER_HEATMAP)
		return set_heatmap_format(reading, format);
	if (!format)
		return fault_set(reading->fault, -EINVAL, "unknown format; use %s",
			is_difference ? "svg, html or txt" : profile_format_names());
	if (is_difference && strcmp(name, "svg") != 0 && strcmp(name, "html") != 0 &&
		strcmp(name, "txt") != 0)
		return fault_set(reading->fault, -EINVAL,
			"no format %s for a difference; use svg, html or txt", name);
	reading->parameters->format = format;
	return 0;
}

static int set_choice(struct reading *reading, const char *name, const char *text, bool *ret_value)
{
	static const char *const words[][4] = {
		{ "no", "0", "false", "off" },
		{ "yes", "1", "true", "on" },
	};

	for (size_t i = 0; i < 2; i++)
		for (size_t j = 0; j < 4; j++)
			if (strcmp(text, words[i][j]) == 0) {
				*ret_value = i == 1;
				return 0;
			}
	return fault_set(reading->fault, -EINVAL, "invalid value of %s; use yes or no", name);
}

static int set_lines(struct reading *reading, const char *text)
{
	bool is_by_line = false;
	int r = set_choice(reading, "lines", text, &is_by_line);

	if (r == 0 && is_by_line)
		reading->parameters->detail = FRAME_BY_LINE;
	return r;
}

static int set_times(struct reading *reading, const char *text)
{
	return set_choice(reading, "times", text, &reading->parameters->has_times);
}

static int set_runtime_frames(struct reading *reading, const char *text)
{
	if (interpreted_frames_find(text, &reading->parameters->interpreted_frames))
		return 0;
	return fault_set(reading->fault, -EINVAL,
		"invalid value of runtime-frames; use spliced, both or native");
}

static int set_labels(struct reading *reading, const char *text)
{
	if (strcmp(text, "all") == 0)
		reading->parameters->pprof_labels = PPROF_LABELS_ALL;
	else if (strcmp(text, "service") == 0)
		reading->parameters->pprof_labels = PPROF_LABELS_SERVICE;
	else if (strcmp(text, "roots") == 0)
		reading->parameters->pprof_labels = PPROF_LABELS_ROOTS;
	else
		return fault_set(reading->fault, -EINVAL,
			"invalid value of labels; use all, service or roots");
	return 0;
}

static int set_normalise(struct reading *reading, const char *text)
{
	if (strcmp(text, "total") == 0)
		reading->parameters->whole = DIFFERENCE_BY_TOTAL;
	else if (strcmp(text, "time") == 0)
		reading->parameters->whole = DIFFERENCE_BY_TIME;
	else
		return fault_set(
			reading->fault, -EINVAL, "invalid value of normalise; use total or time");
	return 0;
}

static int set_buckets(struct reading *reading, const char *text)
{
	char *end;
	unsigned long count = strtoul(text, &end, 10);

	if (*text < '0' || *text > '9' || *end || count == 0 || count > TIMELINE_BUCKETS_MAX)
		return fault_set(reading->fault, -EINVAL,
			"invalid value of buckets; use a number from 1 to %d",
			TIMELINE_BUCKETS_MAX);
	reading->parameters->bucket_count = count;
	return 0;
}

static int set_by(struct reading *reading, const char *text)
{
	if (timeline_by_find(text, &reading->parameters->by))
		return 0;
	return fault_set(reading->fault, -EINVAL, "invalid value of by; use kind, unit or comm");
}

static int set_limit(struct reading *reading, const char *name, const char *text, size_t *ret_limit)
{
	if (!*text || strlen(text) > ROWS_DIGITS || strspn(text, "0123456789") != strlen(text))
		return fault_set(reading->fault, -EINVAL,
			"invalid value of %s; use a number up to 999999, or 0 for all", name);
	*ret_limit = strtoul(text, NULL, 10);
	return 0;
}

static int set_rows(struct reading *reading, const char *text)
{
	return set_limit(reading, "rows", text, &reading->parameters->rows_max);
}

static int set_frames(struct reading *reading, const char *text)
{
	return set_limit(reading, "frames", text, &reading->parameters->frames_max);
}

static int set_below(struct reading *reading, const char *text)
{
	if (!frame_path_is_valid(text))
		return fault_set(reading->fault, -EINVAL,
			"invalid value of below; use hashes of names, with dots between them");
	reading->parameters->below = text;
	return 0;
}

static int set_group(struct reading *reading, const char *text)
{
	if (thread_group_find(text, &reading->parameters->group))
		return 0;
	return fault_set(reading->fault, -EINVAL,
		"invalid value of group; use comm, unit, container, pod, exe, process or thread");
}

static int set_attributes(struct reading *reading, const char *text)
{
	reading->parameters->attributes = text;
	return 0;
}

static int set_late_names(struct reading *reading, const char *text)
{
	reading->parameters->late_names = text;
	return 0;
}

static int set_sample_hosts(struct reading *reading, const char *text)
{
	char *end;
	unsigned long ppm = strtoul(text, &end, 10);

	if (*text < '0' || *text > '9' || *end || ppm == 0 || ppm > HOST_SAMPLE_ALL)
		return fault_set(reading->fault, -EINVAL,
			"invalid value of sample-hosts; use parts per million");
	reading->parameters->sample_hosts_ppm = (uint32_t)ppm;
	return 0;
}

static void set_defaults(struct reading *reading)
{
	reading->parameters->bucket_count = BUCKETS_DEFAULT;
	reading->parameters->sample_hosts_ppm = HOST_SAMPLE_ALL;
	/* In shares, all change if one takes more. */
	if (reading->values[ANSWER_VALUE_INCIDENT])
		reading->parameters->whole = DIFFERENCE_BY_TIME;
}

int answer_values_set(struct reading *reading)
{
	static int (*const setters[ANSWER_VALUES])(struct reading * reading, const char *text) = {
		[ANSWER_VALUE_LINES] = set_lines,
		[ANSWER_VALUE_RUNTIME_FRAMES] = set_runtime_frames,
		[ANSWER_VALUE_GROUP] = set_group,
		[ANSWER_VALUE_ROWS] = set_rows,
		[ANSWER_VALUE_FRAMES] = set_frames,
		[ANSWER_VALUE_BELOW] = set_below,
		[ANSWER_VALUE_LABELS] = set_labels,
		[ANSWER_VALUE_TIMES] = set_times,
		[ANSWER_VALUE_NORMALISE] = set_normalise,
		[ANSWER_VALUE_BUCKETS] = set_buckets,
		[ANSWER_VALUE_BY] = set_by,
		[ANSWER_VALUE_ATTRIBUTES] = set_attributes,
		[ANSWER_VALUE_SAMPLE_HOSTS] = set_sample_hosts,
		[ANSWER_VALUE_LATE_NAMES] = set_late_names,
	};
	int r = set_format(reading);

	set_defaults(reading);
	for (enum answer_value value = 0; r == 0 && value < ANSWER_VALUES; value++) {
		const char *text = reading->values[value];

		if (text && setters[value])
			r = setters[value](reading, text);
		if (text && r == 0)
			r = answer_takes_check_format(
				value, reading->parameters->format->name, reading->fault);
	}
	return r;
}
