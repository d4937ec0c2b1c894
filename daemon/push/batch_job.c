/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "push/batch_job.h"

#include "api/answer_job.h"
#include "api/parameter_list.h"
#include "base/clock.h"
#include "base/event_source.h"
#include "query/host_sample.h"

#include <inttypes.h>
#include <stdio.h>

enum { TIME_BYTES = 40 };

static int add_time(struct parameter_list *parameters, const char *name, uint64_t time_ns)
{
	char text[TIME_BYTES];

	(void)snprintf(text, sizeof(text), "@%" PRIu64 ".%09" PRIu64, time_ns / NSEC_PER_SEC,
		time_ns % NSEC_PER_SEC);
	return parameter_list_add(parameters, name, text);
}

/* What is pushed stands for all hosts, so it says how many were left out. */
static int add_share(const struct push_sink_options *sink, struct parameter_list *parameters)
{
	char text[TIME_BYTES];

	if (sink->sample_hosts_ppm == HOST_SAMPLE_ALL)
		return 0;
	(void)snprintf(text, sizeof(text), "%" PRIu32, sink->sample_hosts_ppm);
	return parameter_list_add(parameters, "sample-hosts", text);
}

static int add_late_names(const struct late_names *late_names, struct parameter_list *parameters)
{
	char text[LATE_NAMES_TEXT_BYTES];

	if (late_names->count == 0)
		return 0;
	late_names_format(late_names, text);
	return parameter_list_add(parameters, "late-names", text);
}

static int fill_parameters(const struct push_sink_options *sink, const struct batch *batch,
	const struct late_names *late_names, struct parameter_list *parameters)
{
	int r = add_time(parameters, "from", batch->start_ns);

	if (r == 0)
		r = add_time(parameters, "to", batch->end_ns);
	/* A window may begin some microseconds before the one before it ends. */
	if (r == 0)
		r = parameter_list_add(parameters, "windows", "ended");
	if (r == 0)
		r = parameter_list_add(parameters, "event", event_sources[batch->source].name);
	if (r == 0)
		r = parameter_list_add(parameters, "format", sink->format);
	if (r == 0 && sink->labels)
		r = parameter_list_add(parameters, "labels", sink->labels);
	if (r == 0)
		r = add_share(sink, parameters);
	if (r == 0)
		r = add_late_names(late_names, parameters);
	return r == 0 && sink->attributes
		       ? parameter_list_add(parameters, "attributes", sink->attributes)
		       : r;
}

int batch_job_start(const struct push_options *push, const struct push_sink_options *sink,
	const struct batch *batch, const struct late_names *late_names, struct answer_job **ret_job)
{
	_cleanup_(parameter_list_done) struct parameter_list parameters = { 0 };
	struct answer_job_options options = {
		.broker = push->broker,
		.program = push->program,
		.kind = ANSWER_PROFILE,
		.scope = ANSWER_ALL,
		.history = push->history,
		.symbol_cache = push->symbol_cache,
		.now_ns = clock_realtime_ns(),
		.bytes_max = push->batch_bytes,
		.memory_max = push->memory_bytes,
		.timeout_ns = push->timeout_ns,
	};
	int r = fill_parameters(sink, batch, late_names, &parameters);

	if (r < 0)
		return r;
	options.parameters = parameters.bytes;
	options.parameters_bytes = parameters.size;
	return answer_job_start(&options, ret_job);
}
