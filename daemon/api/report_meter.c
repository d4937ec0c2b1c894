/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "api/report_meter.h"

#include "base/clock.h"
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

static void write_seconds(struct output *output, uint64_t ns)
{
	output_printf(output, " %" PRIu64 ".%09" PRIu64 "\n", ns / NSEC_PER_SEC, ns % NSEC_PER_SEC);
}

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

/* A name of a section needs no escapes: its characters are letters, digits, '-' and '_'. */
static void write_series(struct output *output, const struct service_status_metric *metric)
{
	for (size_t i = 0; i < metric->series_count; i++) {
		const struct service_status_series *series = &metric->series[i];

		output_printf(output, "pilotlight_function_cpu_seconds_total{metric=\"%s\"",
			metric->name);
		if (metric->by[0]) {
			output_printf(output, ",%s=\"", metric->by);
			write_label_value(output, series->label, sizeof(series->label));
			output_char(output, '"');
		}
		output_char(output, '}');
		write_seconds(output, series->ns);
	}
	/* A rate needs a first value. */
	if (!metric->by[0] && metric->series_count == 0)
		output_printf(output,
			"pilotlight_function_cpu_seconds_total{metric=\"%s\"} 0.000000000\n",
			metric->name);
}

/* A family has no head without a line. */
static bool has_series(const struct service_status_meter *meter)
{
	for (size_t i = 0; i < meter->metric_count; i++)
		if (!meter->metrics[i].by[0] || meter->metrics[i].series_count > 0)
			return true;
	return false;
}

static void write_wholes(const struct service_status_meter *meter, struct output *output)
{
	write_head(output, "function_selected_cpu_seconds_total", "counter",
		"CPU time of the threads that a [metric] section selects, in seconds.");
	for (size_t i = 0; i < meter->metric_count; i++) {
		output_printf(output,
			"pilotlight_function_selected_cpu_seconds_total{metric=\"%s\"}",
			meter->metrics[i].name);
		write_seconds(output, meter->metrics[i].selected_ns);
	}
	write_head(output, "function_unnamed_cpu_seconds_total", "counter",
		"The part of it that did not match, in code without a name when it was measured.");
	for (size_t i = 0; i < meter->metric_count; i++) {
		output_printf(output,
			"pilotlight_function_unnamed_cpu_seconds_total{metric=\"%s\"}",
			meter->metrics[i].name);
		write_seconds(output, meter->metrics[i].unnamed_ns);
	}
}

static void write_own(const struct service_status_meter *meter, struct output *output)
{
	write_head(output, "function_until_time_seconds", "gauge",
		"How far CPU time in functions is measured, in seconds since 1970.");
	output_string(output, "pilotlight_function_until_time_seconds");
	write_seconds(output, meter->until_ns);
	write_head(output, "function_failures_total", "counter",
		"Failed measurements of CPU time in functions; each is made again.");
	output_printf(output, "pilotlight_function_failures_total %" PRIu64 "\n", meter->failed);
	write_head(output, "function_skipped_seconds_total", "counter",
		"Time for which CPU time in functions was not measured, in seconds.");
	output_string(output, "pilotlight_function_skipped_seconds_total");
	write_seconds(output, meter->skipped_ns);
}

void report_meter_write_metrics(const struct service_status *service, struct output *output)
{
	const struct service_status_meter *meter = service->meter;

	if (!meter || meter->metric_count == 0)
		return;
	if (has_series(meter))
		write_head(output, "function_cpu_seconds_total", "counter",
			"CPU time in the functions of a [metric] section, in seconds.");
	for (size_t i = 0; i < meter->metric_count; i++)
		write_series(output, &meter->metrics[i]);
	write_wholes(meter, output);
	write_own(meter, output);
}
