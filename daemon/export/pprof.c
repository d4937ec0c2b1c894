/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes the parts in order, and the fields that describe the profile. Protobuf allows any order of
 * fields. The tables therefore follow the parts that fill them, and the strings come last.
 */
#include "export/pprof.h"

#include "base/clock.h"
#include "base/event_source.h"
#include "export/pprof_fields.h"
#include "export/pprof_writer.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { COMMENT_BYTES = 256 };

static void put_value_type(
	struct pprof_writer *writer, uint32_t field, const char *type, const char *unit)
{
	uint32_t type_string = pprof_tables_text(&writer->tables, type);
	uint32_t unit_string = pprof_tables_text(&writer->tables, unit);
	size_t begin = protobuf_begin(&writer->part, field);

	protobuf_u64(&writer->part, VALUE_TYPE_TYPE, type_string);
	protobuf_u64(&writer->part, VALUE_TYPE_UNIT, unit_string);
	protobuf_end(&writer->part, begin);
}

/* Not the names that receivers know: a claim must not pass for the service. */
static const char *const claim_keys[CLAIM_COUNT] = {
	[CLAIM_SERVICE] = "claimed_service",
	[CLAIM_NAMESPACE] = "claimed_namespace",
	[CLAIM_ENVIRONMENT] = "claimed_environment",
};

static void put_keys(struct pprof_writer *writer)
{
	struct pprof_keys *keys = &writer->keys;

	keys->comm = pprof_tables_text(&writer->tables, "comm");
	keys->pid = pprof_tables_text(&writer->tables, "pid");
	keys->tid = pprof_tables_text(&writer->tables, "tid");
	keys->user = pprof_tables_text(&writer->tables, "user");
	keys->executable = pprof_tables_text(&writer->tables, "executable");
	keys->cgroup = pprof_tables_text(&writer->tables, "cgroup");
	keys->unit = pprof_tables_text(&writer->tables, "unit");
	keys->container = pprof_tables_text(&writer->tables, "container");
	keys->pod = pprof_tables_text(&writer->tables, "pod");
	for (enum process_claim i = 0; i < CLAIM_COUNT; i++)
		keys->claims[i] = pprof_tables_text(&writer->tables, claim_keys[i]);
	if (writer->profile->stamps.count > 0) {
		keys->time = pprof_tables_text(&writer->tables, "timestamp_ns");
		keys->time_unit = pprof_tables_text(&writer->tables, "nanoseconds");
	}
	if (writer->profile->spans.count == 0)
		return;
	keys->trace_id = pprof_tables_text(&writer->tables, "trace_id");
	keys->span_id = pprof_tables_text(&writer->tables, "span_id");
}

static const struct event_source *source_of(const struct profile *profile)
{
	return event_source_of(string_pool_get(&profile->strings, profile->event));
}

static void write_types(struct pprof_writer *writer)
{
	const struct event_source *source = source_of(writer->profile);
	char text[EVENT_TYPE_BYTES];
	const char *type = event_source_type(
		string_pool_get(&writer->profile->strings, writer->profile->event), text);

	put_value_type(writer, PROFILE_SAMPLE_TYPE, "samples", "count");
	put_value_type(writer, PROFILE_SAMPLE_TYPE, type, source->unit);
	put_value_type(writer, PROFILE_PERIOD_TYPE, type, source->unit);
	protobuf_u64(&writer->part, PROFILE_DEFAULT_SAMPLE_TYPE,
		pprof_tables_text(&writer->tables, type));
	put_keys(writer);
	protobuf_u64(&writer->part, PROFILE_PERIOD, pprof_saturate(writer->profile->period_ns));
	pprof_writer_send(writer);
}

static void write_time(struct pprof_writer *writer)
{
	const struct profile *profile = writer->profile;

	protobuf_u64(&writer->part, PROFILE_TIME_NS, pprof_saturate(profile->start_ns));
	/* Readers divide samples by this, so it excludes time that was not recorded. */
	if (profile->end_ns > profile->start_ns)
		protobuf_u64(&writer->part, PROFILE_DURATION_NS,
			pprof_saturate(profile->covered_ns > 0
					       ? profile->covered_ns
					       : profile->end_ns - profile->start_ns));
	pprof_writer_send(writer);
}

__attribute__((format(printf, 2, 3))) static void put_comment(
	struct pprof_writer *writer, const char *format, ...)
{
	char text[COMMENT_BYTES];
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	protobuf_varint(&writer->part, pprof_tables_text(&writer->tables, text));
}

/* How many of the samples have a time. */
static uint64_t timed(const struct profile *profile)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < profile->stamps.count; i++)
		if (__builtin_add_overflow(sum, profile->stamps.items[i].count, &sum))
			return UINT64_MAX;
	return sum;
}

/* Writes the profile's description and its accounts as "key=value" lines (I1). */
static void write_comments(struct pprof_writer *writer)
{
	const struct profile *profile = writer->profile;
	const struct accounts *accounts = &profile->accounts;
	size_t begin = protobuf_begin(&writer->part, PROFILE_COMMENT);

	put_comment(writer, "event=%s", string_pool_get(&profile->strings, profile->event));
	/* The period itself is a field. Of a source without a rate there is no more to say. */
	if (profile->period_ns > 0 && event_source_is_cpu(source_of(profile)))
		put_comment(writer, "rate_hz=%.6g", (double)NSEC_PER_SEC / profile->period_ns);
	if (profile->longest_period_ns > profile->period_ns &&
		event_source_is_cpu(source_of(profile)))
		put_comment(writer, "lowest_rate_hz=%.6g",
			(double)NSEC_PER_SEC / profile->longest_period_ns);
	put_comment(writer, "cpus=%u", profile->cpu_count);
	if (profile->stamps.count > 0)
		put_comment(writer, "timed=%llu", (unsigned long long)timed(profile));
	put_comment(writer, "fired=%llu", (unsigned long long)accounts->fired);
	put_comment(writer, "stored=%llu", (unsigned long long)accounts_stored(accounts));
	for (enum pilotlight_drop reason = 0; reason < PILOTLIGHT_DROP_COUNT; reason++)
		put_comment(writer, "dropped %s=%llu", accounts_drop_name(reason),
			(unsigned long long)accounts->dropped[reason]);
	protobuf_end(&writer->part, begin);
	pprof_writer_send(writer);
}

static void write_strings(struct pprof_writer *writer)
{
	for (uint32_t i = 0; i < writer->tables.strings.count; i++) {
		const char *string = string_pool_get(&writer->tables.strings, i);

		protobuf_bytes(&writer->part, PROFILE_STRING, string, strlen(string));
		pprof_writer_send(writer);
	}
}

int pprof_write_part(const struct profile *profile, enum pprof_labels labels,
	const struct pprof_part *part, struct output *output, uint64_t *ret_plain_bytes)
{
	_cleanup_(pprof_writer_freep) struct pprof_writer *writer = NULL;
	int r;

	r = pprof_writer_new(profile, labels, part, output, &writer);
	if (r < 0)
		return r;
	write_types(writer);
	write_time(writer);
	pprof_write_samples(writer);
	pprof_write_losses(writer);
	pprof_write_locations(writer);
	pprof_write_mappings(writer);
	pprof_write_functions(writer);
	write_comments(writer);
	write_strings(writer);
	r = pprof_writer_finish(writer);
	*ret_plain_bytes = writer->plain.written_bytes;
	return r;
}

int pprof_write(const struct profile *profile, enum pprof_labels labels, struct output *output)
{
	uint64_t plain_bytes;

	return pprof_write_part(profile, labels, NULL, output, &plain_bytes);
}
