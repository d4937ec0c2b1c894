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
	const char *name = reading->format ? reading->format : "txt";

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
		reading->format ? profile_format_find(reading->format) : &profile_formats[0];
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

/* Leaves the value unset if there is no text. */
static int set_choice(struct reading *reading, const char *name, const char *text, bool *ret_value)
{
	static const char *const words[][4] = {
		{ "no", "0", "false", "off" },
		{ "yes", "1", "true", "on" },
	};

	if (!text)
		return 0;
	for (size_t i = 0; i < 2; i++)
		for (size_t j = 0; j < 4; j++)
			if (strcmp(text, words[i][j]) == 0) {
				*ret_value = i == 1;
				return 0;
			}
	return fault_set(reading->fault, -EINVAL, "invalid value of %s; use yes or no", name);
}

static int set_lines(struct reading *reading)
{
	bool is_by_line = false;
	int r = set_choice(reading, "lines", reading->lines, &is_by_line);

	if (r == 0 && is_by_line)
		reading->parameters->detail = FRAME_BY_LINE;
	return r;
}

static int set_times(struct reading *reading)
{
	struct answer_parameters *parameters = reading->parameters;
	int r = set_choice(reading, "times", reading->times, &parameters->has_times);

	if (r == 0 && parameters->has_times && strcmp(parameters->format->name, "pprof") != 0 &&
		strcmp(parameters->format->name, "otlp") != 0)
		return fault_set(reading->fault, -EINVAL,
			"no times in %s; use pprof or otlp, or leave them out",
			parameters->format->name);
	return r;
}

static int set_runtime_frames(struct reading *reading)
{
	if (!reading->runtime_frames || interpreted_frames_find(reading->runtime_frames,
						&reading->parameters->interpreted_frames))
		return 0;
	return fault_set(reading->fault, -EINVAL,
		"invalid value of runtime-frames; use spliced, both or native");
}

static int set_labels(struct reading *reading)
{
	const char *text = reading->labels;

	if (!text || strcmp(text, "all") == 0)
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

static int set_whole(struct reading *reading)
{
	const char *text = reading->normalise;

	/* In shares, all change if one takes more. */
	if (!text && reading->incident)
		reading->parameters->whole = DIFFERENCE_BY_TIME;
	else if (!text || strcmp(text, "total") == 0)
		reading->parameters->whole = DIFFERENCE_BY_TOTAL;
	else if (strcmp(text, "time") == 0)
		reading->parameters->whole = DIFFERENCE_BY_TIME;
	else
		return fault_set(
			reading->fault, -EINVAL, "invalid value of normalise; use total or time");
	if (text && reading->request->kind != ANSWER_DIFFERENCE)
		return fault_set(reading->fault, -EINVAL,
			"normalise is only for a difference; ask for one, or omit it");
	return 0;
}

static int set_buckets(struct reading *reading)
{
	const char *text = reading->buckets;
	char *end;
	unsigned long count;

	reading->parameters->bucket_count = BUCKETS_DEFAULT;
	if (!text)
		return 0;
	if (reading->request->kind != ANSWER_TIMELINE)
		return fault_set(reading->fault, -EINVAL,
			"buckets is only for a time line; ask for one, or omit it");
	count = strtoul(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || count == 0 || count > TIMELINE_BUCKETS_MAX)
		return fault_set(reading->fault, -EINVAL,
			"invalid value of buckets; use a number from 1 to %d",
			TIMELINE_BUCKETS_MAX);
	reading->parameters->bucket_count = count;
	return 0;
}

static int set_by(struct reading *reading)
{
	if (!reading->by || timeline_by_find(reading->by, &reading->parameters->by))
		return 0;
	return fault_set(reading->fault, -EINVAL, "invalid value of by; use kind, unit or comm");
}

static int set_limit(struct reading *reading, const char *name, const char *text, size_t *ret_limit)
{
	if (!text)
		return 0;
	if (!*text || strlen(text) > ROWS_DIGITS || strspn(text, "0123456789") != strlen(text))
		return fault_set(reading->fault, -EINVAL,
			"invalid value of %s; use a number up to 999999, or 0 for all", name);
	*ret_limit = strtoul(text, NULL, 10);
	return 0;
}

static int set_below(struct reading *reading)
{
	if (reading->below && !frame_path_is_valid(reading->below))
		return fault_set(reading->fault, -EINVAL,
			"invalid value of below; use hashes of names, with dots between them");
	reading->parameters->below = reading->below;
	return 0;
}

static int set_group(struct reading *reading)
{
	if (!reading->group)
		return 0;
	if (!reading->parameters->format->is_text)
		return fault_set(reading->fault, -EINVAL,
			"no group in %s, whose samples have labels; omit it",
			reading->parameters->format->name);
	if (thread_group_find(reading->group, &reading->parameters->group))
		return 0;
	return fault_set(reading->fault, -EINVAL,
		"invalid value of group; use comm, unit, container, pod, exe, process or thread");
}

static int set_sample_hosts(struct reading *reading)
{
	const char *text = reading->sample_hosts;
	unsigned long ppm = HOST_SAMPLE_ALL;
	char *end = NULL;

	if (text)
		ppm = strtoul(text, &end, 10);
	if (text && (*text < '0' || *text > '9' || *end || ppm == 0 || ppm > HOST_SAMPLE_ALL))
		return fault_set(reading->fault, -EINVAL,
			"invalid value of sample-hosts; use parts per million");
	reading->parameters->sample_hosts_ppm = (uint32_t)ppm;
	return 0;
}

int answer_values_set(struct reading *reading)
{
	int r = set_format(reading);

	if (r == 0)
		r = set_lines(reading);
	if (r == 0)
		r = set_times(reading);
	if (r == 0)
		r = set_runtime_frames(reading);
	if (r == 0)
		r = set_labels(reading);
	if (r == 0)
		r = set_limit(reading, "rows", reading->rows, &reading->parameters->rows_max);
	if (r == 0)
		r = set_limit(reading, "frames", reading->frames, &reading->parameters->frames_max);
	if (r == 0)
		r = set_below(reading);
	if (r == 0)
		r = set_group(reading);
	if (r == 0)
		r = set_sample_hosts(reading);
	if (r == 0)
		r = set_whole(reading);
	if (r == 0)
		r = set_buckets(reading);
	if (r == 0)
		r = set_by(reading);
	return r;
}
