/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "api/report_sinks.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/output.h"
#include "base/time_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const struct {
	const char *name; /* in JSON and metrics */
	const char *text;
} skips[SERVICE_SINK_SKIPS] = {
	[SERVICE_SINK_TOO_OLD] = { "too_old", "became too old to push" },
	[SERVICE_SINK_TOO_LARGE] = { "too_large", "in batches that were too large" },
	[SERVICE_SINK_CLOCK_SET] = { "clock_set", "not pushed, since the clock was set back" },
	[SERVICE_SINK_EVICTED] = { "evicted", "deleted to make room" },
	[SERVICE_SINK_EXPIRED] = { "expired", "deleted for their age" },
	[SERVICE_SINK_REFUSED] = { "refused", "in batches that the receiver refused" },
	[SERVICE_SINK_REFUSED_SIZE] = { "refused_size", "too large for the receiver" },
	[SERVICE_SINK_UNSAMPLED] = { "unsampled", "left to other hosts, as SampleHosts= says" },
};

/* --- text --- */

const char *report_sink_text(const struct service_status_sink *sink, char text[REPORT_SINK_BYTES])
{
	char time[TIME_TEXT_BYTES];
	size_t used = (size_t)snprintf(text, REPORT_SINK_BYTES,
		"%s (%s): %" PRIu64 " file%s of %.1f MiB", sink->name, sink->type, sink->kept_files,
		sink->kept_files == 1 ? "" : "s", (double)sink->kept_bytes / (1 << 20));

	if (sink->until_ns > 0)
		used += (size_t)snprintf(text + used, REPORT_SINK_BYTES - used, ", until %s",
			time_text_format(sink->until_ns, time));
	if (sink->is_sent && used < REPORT_SINK_BYTES)
		used += (size_t)snprintf(text + used, REPORT_SINK_BYTES - used,
			", %" PRIu64 " batch%s sent%s", sink->sent_batches,
			sink->sent_batches == 1 ? "" : "es", sink->is_held ? ", held" : "");
	if (sink->rejected > 0 && used < REPORT_SINK_BYTES)
		used += (size_t)snprintf(text + used, REPORT_SINK_BYTES - used,
			"; %" PRIu64 " profiles rejected", sink->rejected);
	for (enum service_sink_skip i = 0; i < SERVICE_SINK_SKIPS; i++)
		if (sink->skipped_ns[i] > 0 && used < REPORT_SINK_BYTES)
			used += (size_t)snprintf(text + used, REPORT_SINK_BYTES - used, "; %s %s",
				time_text_format_duration(sink->skipped_ns[i], time),
				skips[i].text);
	return text;
}

/* --- JSON --- */

static void write_seconds(struct json *json, const char *key, uint64_t ns)
{
	json_key(json, key);
	json_seconds(json, (double)ns / NSEC_PER_SEC);
}

static void write_sink(struct json *json, const struct service_status_sink *sink)
{
	json_begin_object(json);
	json_member_string(json, "name", sink->name);
	json_member_string(json, "type", sink->type);
	json_member_bool(json, "is_failing", sink->is_failing);
	json_member_string(json, "fault", sink->fault);
	json_member_u64(json, "batches", sink->batches);
	json_member_u64(json, "bytes", sink->bytes);
	json_member_u64(json, "empty", sink->empty);
	json_member_u64(json, "failed", sink->failed);
	json_key(json, "skipped_seconds");
	json_begin_object(json);
	for (enum service_sink_skip i = 0; i < SERVICE_SINK_SKIPS; i++)
		write_seconds(json, skips[i].name, sink->skipped_ns[i]);
	json_end_object(json);
	json_member_u64(json, "kept_files", sink->kept_files);
	json_member_u64(json, "kept_bytes", sink->kept_bytes);
	write_seconds(json, "until_seconds", sink->until_ns);
	if (sink->is_sent) {
		json_member_bool(json, "is_held", sink->is_held);
		json_member_u64(json, "sent_batches", sink->sent_batches);
		json_member_u64(json, "sent_bytes", sink->sent_bytes);
		json_member_u64(json, "rejected_profiles", sink->rejected);
	}
	json_end_object(json);
}

void report_sinks_write_json(const struct service_status *service, struct json *json)
{
	json_key(json, "sinks");
	json_begin_array(json);
	for (size_t i = 0; i < service->sink_count && i < ARRAY_SIZE(service->sinks); i++)
		write_sink(json, &service->sinks[i]);
	json_end_array(json);
}

/* --- metrics --- */

static const struct sink_metric {
	const char *name, *type, *help;
	size_t offset; /* in struct service_status_sink, of a uint64_t */
	bool is_ns;    /* written in seconds */
} metrics[] = {
	{ "sink_batches_total", "counter", "Batches written for a sink.",
		offsetof(struct service_status_sink, batches), false },
	{ "sink_bytes_total", "counter", "Bytes written for a sink.",
		offsetof(struct service_status_sink, bytes), false },
	{ "sink_empty_batches_total", "counter",
		"Batches not written, since the history has no window of their time.",
		offsetof(struct service_status_sink, empty), false },
	{ "sink_failures_total", "counter", "Failed attempts; each is made again.",
		offsetof(struct service_status_sink, failed), false },
	{ "sink_files", "gauge", "Files in the folder of a sink.",
		offsetof(struct service_status_sink, kept_files), false },
	{ "sink_kept_bytes", "gauge", "Size of the files in the folder of a sink.",
		offsetof(struct service_status_sink, kept_bytes), false },
	{ "sink_until_time_seconds", "gauge",
		"How far a sink covers CPU time, in seconds since 1970.",
		offsetof(struct service_status_sink, until_ns), true },
	{ "sink_sent_batches_total", "counter", "Batches that the receiver of a sink has taken.",
		offsetof(struct service_status_sink, sent_batches), false },
	{ "sink_sent_bytes_total", "counter", "Size of the batches that the receiver has taken.",
		offsetof(struct service_status_sink, sent_bytes), false },
	{ "sink_rejected_profiles_total", "counter",
		"Profiles, and binaries' names, that the receiver of a sink took batches without.",
		offsetof(struct service_status_sink, rejected), false },
};

static void write_value(struct output *output, uint64_t value, bool is_ns)
{
	if (is_ns)
		output_printf(output, "%" PRIu64 ".%09" PRIu64 "\n", value / NSEC_PER_SEC,
			value % NSEC_PER_SEC);
	else
		output_printf(output, "%" PRIu64 "\n", value);
}

static void write_head(struct output *output, const char *name, const char *type, const char *help)
{
	output_printf(output, "# HELP pilotlight_%s %s\n# TYPE pilotlight_%s %s\n", name, help,
		name, type);
}

/* A sink's name needs no escapes: its characters are letters, digits, '-' and '_'. */
static void write_metric(struct output *output, const struct service_status *service,
	const struct sink_metric *metric)
{
	write_head(output, metric->name, metric->type, metric->help);
	for (size_t i = 0; i < service->sink_count; i++) {
		const struct service_status_sink *sink = &service->sinks[i];
		uint64_t value;

		memcpy(&value, (const char *)sink + metric->offset, sizeof(value));
		output_printf(output, "pilotlight_%s{sink=\"%s\"} ", metric->name, sink->name);
		write_value(output, value, metric->is_ns);
	}
}

static void write_skipped(struct output *output, const struct service_status *service)
{
	write_head(output, "sink_skipped_seconds_total", "counter",
		"Time missing from what a sink receives or keeps, by reason, in seconds.");
	for (size_t i = 0; i < service->sink_count; i++)
		for (enum service_sink_skip n = 0; n < SERVICE_SINK_SKIPS; n++) {
			output_printf(output,
				"pilotlight_sink_skipped_seconds_total{sink=\"%s\",reason=\"%s\"} ",
				service->sinks[i].name, skips[n].name);
			write_value(output, service->sinks[i].skipped_ns[n], true);
		}
}

void report_sinks_write_metrics(const struct service_status *service, struct output *output)
{
	if (service->sink_count == 0)
		return;
	write_head(output, "sink_failing", "gauge", "1 while attempts for a sink fail.");
	for (size_t i = 0; i < service->sink_count; i++)
		output_printf(output, "pilotlight_sink_failing{sink=\"%s\"} %d\n",
			service->sinks[i].name, service->sinks[i].is_failing);
	write_head(output, "sink_held", "gauge",
		"1 while the receiver of a sink refuses every batch, and the folder keeps them.");
	for (size_t i = 0; i < service->sink_count; i++)
		output_printf(output, "pilotlight_sink_held{sink=\"%s\"} %d\n",
			service->sinks[i].name, service->sinks[i].is_held);
	for (size_t i = 0; i < ARRAY_SIZE(metrics); i++)
		write_metric(output, service, &metrics[i]);
	write_skipped(output, service);
}
