/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks a request's parameters, which select parts of the history and choose the output. */
#pragma once

#include "aggregate/interpreted_frames.h"
#include "answer/answer_metrics.h"
#include "answer/answer_request.h"
#include "base/fault.h"
#include "export/profile_format.h"
#include "query/profile_difference.h"
#include "query/selection.h"
#include "query/thread_group.h"
#include "query/timeline_parts.h"

#include <stdbool.h>

struct answer_parameters {
	/* Owned and complete. A profile query fills only DIFFERENCE_COMPARED. */
	struct selection *sides[DIFFERENCE_SIDE_COUNT];
	const struct profile_format *format;
	enum frame_detail detail;
	enum interpreted_frames interpreted_frames;
	enum pprof_labels pprof_labels;
	const char *attributes;	   /* as in struct profile_format_options; in the request */
	uint32_t sample_hosts_ppm; /* as in struct profile_format_options */
	const char *late_names;	   /* the same; in the request */
	size_t rows_max;	   /* of a table; 0: no limit */
	size_t frames_max;	   /* of json and html; 0: as many as these formats may have */
	const char *below;	   /* a path of frames (render/frame_path.h), in the request */
	enum thread_group group;
	enum difference_whole whole;
	bool has_times;	     /* pprof and otlp tell when samples were taken */
	bool is_of_incident; /* the difference is an incident's */
	bool is_of_subject;  /* and of what it is about alone, which may be new */
	bool is_before;	     /* with the time before it */
	size_t bucket_count; /* of a time line */
	enum timeline_by by; /* the parts of a time line */
	uint64_t incident;   /* that was asked for; 0: none, or a list of all */
	struct answer_metrics metrics;
};

/*
 * Returns 0; -EINVAL or -E2BIG with `fault`, which names the parameter and its problem; or -ENOMEM.
 */
int answer_parameters_read(const struct answer_request *request,
	struct answer_parameters *ret_parameters, struct fault *fault);
void answer_parameters_done(struct answer_parameters *parameters);
