/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "push/function_meter.h"

#include "answer/answer_metrics.h"
#include "api/answer_job.h"
#include "api/parameter_list.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/utf8.h"
#include "push/metric_series.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

/* Of a single window a measurement cost 25 ms of CPU time: each 10 s that would be 0.25 % of a CPU.
 */
#define INTERVAL_NS_DEFAULT  (60ULL * NSEC_PER_SEC)
#define NAME_WAIT_NS_DEFAULT (30ULL * NSEC_PER_SEC)
#define MEMORY_BYTES	     (96ULL << 20)
#define TIMEOUT_NS	     (30ULL * NSEC_PER_SEC)

/* Windows end some milliseconds early or late. */
#define GAP_NS_MIN (NSEC_PER_SEC / 2)

enum {
	TIME_BYTES = 40,
	STATUS_OK = 200,
	STATUS_NOT_FOUND = 404,
	/* Selected, unnamed, the series, and "[other]". */
	VALUES_MAX = ANSWER_METRICS_MAX * (ANSWER_METRIC_SERIES_MAX + 3),
	ANSWER_BYTES_MAX = VALUES_MAX * (int)sizeof(struct answer_metric_value),
};

struct function_meter {
	struct function_meter_options options;
	int epoll_fd;
	struct answer_job *job;
	uint64_t sealed_ns; /* CLOCK_REALTIME; 0: unknown */
	/* Of the job: from where on the next one measures, and how much time it was asked for. */
	uint64_t making_ns, asked_ns;
	uint64_t next_ns, names_until_ns; /* CLOCK_MONOTONIC; 0: at once, none waits */
	struct service_status_meter status;
	struct service_status_metric *metrics; /* owned, as are their series */
};

/* --- results --- */

static void fail(struct function_meter *meter, const char *what)
{
	struct service_status_meter *status = &meter->status;

	status->failed++;
	(void)snprintf(
		status->fault, sizeof(status->fault), "%.*s", (int)sizeof(status->fault) - 1, what);
	if (!status->is_failing)
		log_warning("metrics of functions: %s; trying again in a minute", what);
	status->is_failing = true;
}

static void succeed(struct function_meter *meter)
{
	struct service_status_meter *status = &meter->status;

	if (status->is_failing)
		log_info("metrics of functions: they are measured again");
	status->is_failing = false;
	status->fault[0] = '\0';
	status->until_ns = meter->making_ns;
}

/* The process is not trusted: a wrong value is dropped. */
static void take_value(struct function_meter *meter, const struct answer_metric_value *value)
{
	struct service_status_metric *metric;
	char clean[UTF8_CLEAN_BYTES];

	if (value->metric >= meter->status.metric_count ||
		!memchr(value->label, '\0', sizeof(value->label)))
		return;
	(void)utf8_clean(clean, value->label, strlen(value->label));
	if (strcmp(clean, value->label) != 0)
		return;
	metric = &meter->metrics[value->metric];
	switch (value->kind) {
	case ANSWER_METRIC_SELECTED:
		metric->selected_ns += value->ns;
		break;
	case ANSWER_METRIC_UNNAMED:
		metric->unnamed_ns += value->ns;
		break;
	case ANSWER_METRIC_MATCHED:
		metric_series_add(metric, value->label, value->ns, meter->status.measured + 1);
		break;
	default:
		break;
	}
}

static int take_values(struct function_meter *meter, int fd, uint64_t bytes)
{
	struct answer_metric_value value;
	size_t count = bytes / sizeof(value);

	for (size_t i = 0; i < count && i < VALUES_MAX; i++) {
		if (pread(fd, &value, sizeof(value), (off_t)(i * sizeof(value))) != sizeof(value))
			return -EIO;
		take_value(meter, &value);
	}
	return 0;
}

/* Windows were dropped, or cannot be read because their day is damaged. */
static void count_gap(struct function_meter *meter, uint64_t covered_ns)
{
	if (meter->asked_ns > covered_ns && meter->asked_ns - covered_ns >= GAP_NS_MIN)
		meter->status.skipped_ns += meter->asked_ns - covered_ns;
}

static void finish_job(struct function_meter *meter)
{
	struct answer_outcome outcome;
	_cleanup_close_ int fd = -1;

	if (answer_job_take(meter->job, &outcome) < 0)
		return;
	fd = outcome.fd;
	answer_job_free(TAKE_PTR(meter->job));
	if (outcome.status == STATUS_NOT_FOUND) {
		count_gap(meter, 0);
		succeed(meter);
		return;
	}
	if (outcome.status != STATUS_OK || take_values(meter, fd, outcome.bytes) < 0) {
		fail(meter, outcome.status != STATUS_OK ? outcome.text : "cannot read the answer");
		return;
	}
	meter->status.measured++;
	if (outcome.covered_ns > 0)
		count_gap(meter, outcome.covered_ns);
	succeed(meter);
}

/* --- beginnings --- */

static int add_time(struct parameter_list *parameters, const char *name, uint64_t time_ns)
{
	char text[TIME_BYTES];

	(void)snprintf(text, sizeof(text), "@%" PRIu64 ".%09" PRIu64, time_ns / NSEC_PER_SEC,
		time_ns % NSEC_PER_SEC);
	return parameter_list_add(parameters, name, text);
}

static int add_metric(struct parameter_list *parameters, const struct config_metric *metric)
{
	char series[24];
	int r = parameter_list_add(parameters, "metric", metric->name);

	(void)snprintf(series, sizeof(series), "%" PRIu64, metric->series_max);
	for (size_t i = 0; r == 0 && i < metric->select.count; i++)
		r = parameter_list_add(parameters, "select", metric->select.items[i]);
	if (r == 0 && *metric->function)
		r = parameter_list_add(parameters, "function", metric->function);
	if (r == 0)
		r = parameter_list_add(parameters, "count", metric->count);
	if (r == 0)
		r = parameter_list_add(parameters, "by", metric->by);
	return r < 0 ? r : parameter_list_add(parameters, "series", series);
}

static int fill_parameters(struct function_meter *meter, struct parameter_list *parameters)
{
	int r = add_time(parameters, "from", meter->status.until_ns);

	if (r == 0)
		r = add_time(parameters, "to", meter->making_ns);
	/* A window may begin some microseconds before the one before it ends. */
	if (r == 0)
		r = parameter_list_add(parameters, "windows", "ended");
	for (size_t i = 0; r == 0 && i < meter->options.metric_count; i++)
		r = add_metric(parameters, &meter->options.metrics[i]);
	return r;
}

static int start_job(struct function_meter *meter)
{
	_cleanup_(parameter_list_done) struct parameter_list parameters = { 0 };
	_cleanup_(answer_job_freep) struct answer_job *job = NULL;
	struct epoll_event event = { .events = EPOLLIN };
	struct answer_job_options options = {
		.broker = meter->options.broker,
		.program = meter->options.program,
		.kind = ANSWER_METRICS,
		.scope = ANSWER_ALL,
		.history = meter->options.history,
		.symbol_cache = meter->options.symbol_cache,
		.now_ns = clock_realtime_ns(),
		.bytes_max = ANSWER_BYTES_MAX,
		.memory_max = MEMORY_BYTES,
		.timeout_ns = TIMEOUT_NS,
	};
	int r = fill_parameters(meter, &parameters);

	if (r < 0)
		return r;
	options.parameters = parameters.bytes;
	options.parameters_bytes = parameters.size;
	r = answer_job_start(&options, &job);
	if (r < 0)
		return r;
	if (epoll_ctl(meter->epoll_fd, EPOLL_CTL_ADD, answer_job_poll_fd(job), &event) < 0)
		return -errno;
	meter->job = TAKE_PTR(job);
	return 0;
}

static void begin(struct function_meter *meter)
{
	char text[128];
	int r;

	meter->making_ns = meter->sealed_ns;
	meter->asked_ns = meter->making_ns - meter->status.until_ns;
	r = start_job(meter);
	if (r == 0)
		return;
	(void)snprintf(text, sizeof(text), "cannot start the query process: %s", strerror(-r));
	fail(meter, text);
}

/* Skips what is too old, so that one measurement is bounded and windows merged with age are in
 * none. */
static void limit_age(struct function_meter *meter)
{
	uint64_t *until_ns = &meter->status.until_ns;
	uint64_t least_ns = meter->sealed_ns > meter->options.catch_up_ns
				    ? meter->sealed_ns - meter->options.catch_up_ns
				    : 0;

	if (*until_ns >= least_ns)
		return;
	meter->status.skipped_ns += least_ns - *until_ns;
	*until_ns = least_ns;
}

void function_meter_run(struct function_meter *meter, bool are_names_pending)
{
	uint64_t now_ns = clock_monotonic_ns();

	if (meter->job)
		finish_job(meter);
	if (meter->job || now_ns < meter->next_ns || meter->sealed_ns <= meter->status.until_ns)
		return;
	if (meter->names_until_ns == 0)
		meter->names_until_ns = now_ns + meter->options.name_wait_ns;
	if (are_names_pending && now_ns < meter->names_until_ns)
		return;
	meter->names_until_ns = 0;
	meter->next_ns = now_ns + meter->options.interval_ns;
	limit_age(meter);
	begin(meter);
}

/*
 * The first window that ends begins the numbers. So does one after the clock was set back: windows
 * of the repeated time that were measured before are measured once more, with the new ones.
 */
void function_meter_sealed(struct function_meter *meter, uint64_t until_ns)
{
	if (meter->status.until_ns == 0 || until_ns < meter->status.until_ns)
		meter->status.until_ns = until_ns;
	/* A job that runs must not set it ahead again. */
	if (until_ns < meter->making_ns)
		meter->making_ns = until_ns;
	meter->sealed_ns = until_ns;
}

/* --- */

static int make_metrics(struct function_meter *meter)
{
	const struct function_meter_options *options = &meter->options;

	meter->metrics = calloc(options->metric_count + 1, sizeof(*meter->metrics));
	if (!meter->metrics)
		return -ENOMEM;
	for (size_t i = 0; i < options->metric_count; i++) {
		struct service_status_metric *metric = &meter->metrics[i];

		(void)snprintf(metric->name, sizeof(metric->name), "%s", options->metrics[i].name);
		if (strcmp(options->metrics[i].by, "none") != 0)
			(void)snprintf(
				metric->by, sizeof(metric->by), "%s", options->metrics[i].by);
		/* One more for "[other]". */
		metric->series_max = metric->by[0] ? options->metrics[i].series_max + 1 : 1;
		metric->series = calloc(metric->series_max, sizeof(*metric->series));
		if (!metric->series)
			return -ENOMEM;
	}
	meter->status.metrics = meter->metrics;
	meter->status.metric_count = options->metric_count;
	return 0;
}

int function_meter_new(
	const struct function_meter_options *options, struct function_meter **ret_meter)
{
	_cleanup_(function_meter_freep) struct function_meter *meter = calloc(1, sizeof(*meter));
	int r;

	if (!meter)
		return -ENOMEM;
	meter->epoll_fd = -1;
	meter->options = *options;
	if (!meter->options.interval_ns)
		meter->options.interval_ns = INTERVAL_NS_DEFAULT;
	if (!meter->options.name_wait_ns)
		meter->options.name_wait_ns = NAME_WAIT_NS_DEFAULT;
	r = make_metrics(meter);
	if (r < 0)
		return r;
	meter->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (meter->epoll_fd < 0)
		return -errno;
	*ret_meter = TAKE_PTR(meter);
	return 0;
}

void function_meter_free(struct function_meter *meter)
{
	if (!meter)
		return;
	answer_job_free(meter->job);
	for (size_t i = 0; meter->metrics && i < meter->options.metric_count; i++)
		free(meter->metrics[i].series);
	free(meter->metrics);
	closep(&meter->epoll_fd);
	free(meter);
}

int function_meter_poll_fd(const struct function_meter *meter)
{
	return meter->epoll_fd;
}

const struct service_status_meter *function_meter_status(const struct function_meter *meter)
{
	return &meter->status;
}
