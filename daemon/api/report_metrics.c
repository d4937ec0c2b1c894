/* SPDX-License-Identifier: GPL-2.0-or-later */
/* https://prometheus.io/docs/instrumenting/exposition_formats/ and .../best_practices/naming */
#include "api/report.h"
#include "api/report_fields.h"
#include "api/report_meter.h"
#include "api/report_sinks.h"
#include "api/report_words.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/event_source.h"
#include "base/output.h"
#include "base/utf8.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

static void write_head(struct output *output, const char *name, const char *type, const char *help)
{
	output_printf(output, "# HELP pilotlight_%s %s\n# TYPE pilotlight_%s %s\n", name, help,
		name, type);
}

/* Writes every digit; a double would lose some. */
static void write_parts(struct output *output, uint64_t value, uint64_t unit, int digits)
{
	output_u64(output, value / unit);
	if (value % unit)
		output_printf(output, ".%0*" PRIu64, digits, value % unit);
}

static void write_value(
	struct output *output, const struct report_field *field, const struct report *report)
{
	uint64_t value = report_field_get(field, report);

	switch (field->unit) {
	case REPORT_NUMBER:
	case REPORT_BOOLEAN:
		output_u64(output, value);
		break;
	case REPORT_NANOSECONDS:
		write_parts(output, value, NSEC_PER_SEC, 9);
		break;
	case REPORT_PPM:
	case REPORT_PPM_DOUBLE:
		write_parts(output, value, 1000000, 6);
		break;
	}
	output_char(output, '\n');
}

static bool is_counter(const char *name)
{
	static const char end[] = "_total";
	size_t size = strlen(name);

	return size > sizeof(end) - 1 && strcmp(name + size - (sizeof(end) - 1), end) == 0;
}

static void write_field(
	struct output *output, const struct report_field *field, const struct report *report)
{
	write_head(output, field->metric, is_counter(field->metric) ? "counter" : "gauge",
		field->help);
	output_printf(output, "pilotlight_%s ", field->metric);
	write_value(output, field, report);
}

/* Writes `text` as clean UTF-8 with a label value's escapes. */
static void write_label_value(struct output *output, const char *text, size_t size)
{
	char clean[UTF8_CLEAN_BYTES];

	(void)utf8_clean(clean, text, strnlen(text, size));
	for (const char *c = clean; *c; c++) {
		if (*c == '"' || *c == '\\')
			output_char(output, '\\');
		output_char(output, *c);
	}
}

static void write_build(struct output *output, const struct service_status *service)
{
	write_head(output, "build_info", "gauge", "Version, and sampling event.");
	output_string(output, "pilotlight_build_info{version=\"");
	write_label_value(output, service->version, sizeof(service->version));
	output_string(output, "\",event=\"");
	write_label_value(output, service->event, sizeof(service->event));
	output_string(output, "\"} 1\n");
}

static void write_counter(struct output *output, const char *name, const char *help, uint64_t value)
{
	write_head(output, name, "counter", help);
	output_printf(output, "pilotlight_%s %" PRIu64 "\n", name, value);
}

static void write_accounts(struct output *output, const struct accounts *accounts)
{
	char name[REPORT_NAME_BYTES];

	write_counter(output, "samples_fired_total",
		"Samples taken; each is either stored or dropped.", accounts->fired);
	write_counter(output, "samples_lost_total",
		"Samples lost: dropped, except idle and filtered ones.", accounts_lost(accounts));
	for (size_t i = 0; i < REPORT_COUNTERS; i++) {
		const struct report_counters *counters = &report_counters[i];

		write_head(output, counters->metric, "counter", counters->help);
		for (size_t n = 0; n < counters->count; n++)
			output_printf(output, "pilotlight_%s{%s=\"%s\"} %" PRIu64 "\n",
				counters->metric, counters->label,
				report_counter_name(counters, n, name),
				report_counter_get(counters, accounts, n));
	}
}

/* CPU time always is. */
static bool is_sampled(const struct service_status *service, enum pilotlight_source source)
{
	return source == PILOTLIGHT_SOURCE_CPU || service->sources & 1U << source;
}

static void write_outcome(
	struct output *output, const char *source, const char *outcome, uint64_t value)
{
	output_printf(output,
		"pilotlight_source_samples_total{source=\"%s\",outcome=\"%s\"} %" PRIu64 "\n",
		source, outcome, value);
}

/* A metric has one unit. It has no head without a value. */
static void write_periods(
	struct output *output, const struct service_status *service, enum event_unit unit)
{
	static const struct {
		const char *metric, *help;
	} metrics[] = {
		[EVENT_UNIT_TIME] = { "source_period_seconds",
			"The time that a sample of a source stands for." },
		[EVENT_UNIT_BYTES] = { "source_period_bytes",
			"The bytes that a sample of a source stands for." },
		[EVENT_UNIT_COUNT] = { "source_period_events",
			"The number of events that a sample of a source stands for." },
	};
	bool has_head = false;

	for (enum pilotlight_source i = 0; i < PILOTLIGHT_SOURCES; i++) {
		if (!is_sampled(service, i) || event_source_unit(&event_sources[i]) != unit)
			continue;
		if (!has_head)
			write_head(output, metrics[unit].metric, "gauge", metrics[unit].help);
		has_head = true;
		output_printf(output, "pilotlight_%s{source=\"%s\"} ", metrics[unit].metric,
			report_event_name(service, i));
		if (unit == EVENT_UNIT_TIME)
			write_parts(output, service->periods_ns[i], NSEC_PER_SEC, 9);
		else
			output_u64(output, service->periods_ns[i]);
		output_char(output, '\n');
	}
}

static void write_surveyed(struct output *output, const struct service_status *service)
{
	if (!service->surveyed)
		return;
	write_head(output, "source_surveyed", "gauge",
		"1: surveys of all threads sample the source, not programs at its events.");
	for (enum pilotlight_source i = 0; i < PILOTLIGHT_SOURCES; i++)
		if (service->surveyed & 1U << i)
			output_printf(output, "pilotlight_source_surveyed{source=\"%s\"} 1\n",
				report_event_name(service, i));
}

/* A sample is one period of its source. Those of CPU time are also in metrics of their own. */
static void write_sources(struct output *output, const struct service_status *service)
{
	char name[REPORT_NAME_BYTES];

	for (enum event_unit unit = EVENT_UNIT_TIME; unit <= EVENT_UNIT_COUNT; unit++)
		write_periods(output, service, unit);
	write_surveyed(output, service);
	write_head(output, "source_samples_total", "counter",
		"Samples by source: stored, or dropped, by reason.");
	for (enum pilotlight_source i = 0; i < PILOTLIGHT_SOURCES; i++) {
		const struct accounts *accounts = &service->by_source.of[i];

		if (!is_sampled(service, i))
			continue;
		write_outcome(
			output, report_event_name(service, i), "stored", accounts_stored(accounts));
		for (size_t n = 0; n < PILOTLIGHT_DROP_COUNT; n++)
			write_outcome(output, report_event_name(service, i),
				report_counter_name(&report_counters[REPORT_DROPPED], n, name),
				accounts->dropped[n]);
	}
}

/* What bounds the cost of a burst. */
static void write_thinned(struct output *output, const struct service_status *service)
{
	bool has_head = false;

	for (enum pilotlight_source i = PILOTLIGHT_SOURCE_CPU + 1; i < PILOTLIGHT_SOURCES; i++) {
		if (!is_sampled(service, i))
			continue;
		if (!has_head)
			write_head(output, "source_thinned_total", "counter",
				"Samples of a source that stand for others, too, since more came "
				"than are taken.");
		has_head = true;
		output_printf(output,
			"pilotlight_source_thinned_total{source=\"%s\"} %" PRIu64 "\n",
			report_event_name(service, i),
			service->by_source.of[i].events[PILOTLIGHT_EVENT_THINNED]);
	}
}

static void write_live(struct output *output, const struct service_status *service)
{
	bool has_head = false;

	for (enum pilotlight_source i = 0; i < PILOTLIGHT_SOURCES; i++) {
		if (!is_sampled(service, i) || !event_sources[i].is_live)
			continue;
		if (!has_head)
			write_head(output, "source_live_total", "counter",
				"Samples of allocations that are not in the profile of what "
				"lives, by outcome.");
		has_head = true;
		for (size_t j = 0; j < REPORT_OUTCOMES; j++)
			output_printf(output,
				"pilotlight_source_live_total{source=\"%s\",outcome=\"%s\"} "
				"%" PRIu64 "\n",
				report_event_name(service, i), report_outcomes[j].key,
				report_outcome_get(&report_outcomes[j], &service->live[i]));
	}
}

/* A metric with a label for the user and the resource. It has no head without a value. */
struct user_metric {
	const char *name, *type, *help;
	bool has_head;
};

static void write_user(struct output *output, struct user_metric *metric, uint64_t user,
	const uint64_t values[USER_RESOURCES])
{
	char name[USER_EXCESS_NAME_BYTES];

	for (size_t i = 0; i < USER_RESOURCES; i++) {
		if (values[i] == 0)
			continue;
		if (!metric->has_head)
			write_head(output, metric->name, metric->type, metric->help);
		metric->has_head = true;
		output_printf(output, "pilotlight_%s{user=\"%s\",resource=\"%s\"} %" PRIu64 "\n",
			metric->name, user_excess_name(user, name), report_resources[i].key,
			values[i]);
	}
}

static void write_users(struct output *output, const struct service_status *service)
{
	struct user_metric held = { .name = "user_held",
		.type = "gauge",
		.help = "What the users with the most hold: bytes of window, history and jit, "
			"millionths of unwind." };
	struct user_metric over = { .name = "user_over_quota_total",
		.type = "counter",
		.help = "What was refused to the users with the most refusals." };

	for (size_t i = 0; i < ARRAY_SIZE(service->holdings.lines); i++)
		write_user(output, &held, service->holdings.lines[i].user,
			service->holdings.lines[i].held);
	for (size_t i = 0; i < ARRAY_SIZE(service->excess.lines); i++)
		write_user(output, &over, service->excess.lines[i].user,
			service->excess.lines[i].refused);
}

static void write_responses(struct output *output, const struct http_counters *http)
{
	write_head(output, "http_responses_total", "counter", "HTTP answers, by status class.");
	for (size_t i = 1; i < ARRAY_SIZE(http->statuses); i++)
		output_printf(output,
			"pilotlight_http_responses_total{code=\"%zuxx\"} %" PRIu64 "\n", i,
			http->statuses[i]);
}

void report_write_metrics(const struct report *report, struct output *output)
{
	write_build(output, &report->service);
	for (size_t i = 0; i < report_field_count; i++)
		write_field(output, &report_fields[i], report);
	write_accounts(output, &report->service.accounts);
	write_counter(output, "samples_lost_with_engines_total",
		"Samples lost with windows that were open, or not confirmed as written, when an "
		"engine was killed.",
		report->service.lost_by_engines);
	write_sources(output, &report->service);
	write_thinned(output, &report->service);
	write_live(output, &report->service);
	write_users(output, &report->service);
	report_sinks_write_metrics(&report->service, output);
	report_meter_write_metrics(&report->service, output);
	write_responses(output, &report->http);
}
