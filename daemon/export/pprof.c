/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes the parts in order, and the fields that describe the profile. Protobuf allows any order of
 * fields. The tables therefore follow the parts that fill them, and the strings come last.
 */
#include "export/pprof.h"

#include "base/array.h"
#include "base/clock.h"
#include "export/pprof_fields.h"
#include "export/pprof_writer.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { COMMENT_BYTES = 256 };

static int put_value_type(
	struct pprof_writer *writer, uint32_t field, const char *type, const char *unit)
{
	uint32_t type_string, unit_string;
	size_t begin;
	int r;

	r = pprof_tables_text(&writer->tables, type, &type_string);
	if (r == 0)
		r = pprof_tables_text(&writer->tables, unit, &unit_string);
	if (r < 0)
		return r;
	begin = protobuf_begin(&writer->part, field);
	protobuf_u64(&writer->part, VALUE_TYPE_TYPE, type_string);
	protobuf_u64(&writer->part, VALUE_TYPE_UNIT, unit_string);
	protobuf_end(&writer->part, begin);
	return 0;
}

static int put_keys(struct pprof_writer *writer)
{
	const struct {
		const char *name;
		uint32_t *string;
	} keys[] = {
		{ "comm", &writer->keys.comm },
		{ "pid", &writer->keys.pid },
		{ "tid", &writer->keys.tid },
		{ "executable", &writer->keys.executable },
		{ "cgroup", &writer->keys.cgroup },
		{ "unit", &writer->keys.unit },
		{ "container", &writer->keys.container },
		{ "pod", &writer->keys.pod },
	};
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(keys); i++)
		r = pprof_tables_text(&writer->tables, keys[i].name, keys[i].string);
	return r;
}

static int write_types(struct pprof_writer *writer)
{
	uint32_t cpu;
	int r;

	r = put_value_type(writer, PROFILE_SAMPLE_TYPE, "samples", "count");
	if (r == 0)
		r = put_value_type(writer, PROFILE_SAMPLE_TYPE, "cpu", "nanoseconds");
	if (r == 0)
		r = put_value_type(writer, PROFILE_PERIOD_TYPE, "cpu", "nanoseconds");
	if (r == 0)
		r = pprof_tables_text(&writer->tables, "cpu", &cpu);
	if (r == 0)
		r = put_keys(writer);
	if (r < 0)
		return r;
	protobuf_u64(&writer->part, PROFILE_DEFAULT_SAMPLE_TYPE, cpu);
	protobuf_u64(&writer->part, PROFILE_PERIOD, pprof_saturate(writer->profile->period_ns));
	return pprof_writer_send(writer);
}

static int write_time(struct pprof_writer *writer)
{
	const struct profile *profile = writer->profile;

	protobuf_u64(&writer->part, PROFILE_TIME_NS, pprof_saturate(profile->start_ns));
	/* Readers divide samples by this, so it excludes time that was not recorded. */
	if (profile->end_ns > profile->start_ns)
		protobuf_u64(&writer->part, PROFILE_DURATION_NS,
			pprof_saturate(profile->covered_ns > 0
					       ? profile->covered_ns
					       : profile->end_ns - profile->start_ns));
	return pprof_writer_send(writer);
}

__attribute__((format(printf, 2, 3))) static int put_comment(
	struct pprof_writer *writer, const char *format, ...)
{
	char text[COMMENT_BYTES];
	va_list arguments;
	uint32_t string;
	int r;

	va_start(arguments, format);
	(void)vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	r = pprof_tables_text(&writer->tables, text, &string);
	if (r == 0)
		protobuf_varint(&writer->part, string);
	return r;
}

/* Writes the profile's description and its accounts as "key=value" lines (I1). */
static int write_comments(struct pprof_writer *writer)
{
	const struct profile *profile = writer->profile;
	const struct accounts *accounts = &profile->accounts;
	size_t begin = protobuf_begin(&writer->part, PROFILE_COMMENT);
	int r;

	r = put_comment(writer, "event=%s", string_pool_get(&profile->strings, profile->event));
	if (r == 0 && profile->period_ns > 0)
		r = put_comment(writer, "rate_hz=%.6g", (double)NSEC_PER_SEC / profile->period_ns);
	if (r == 0 && profile->longest_period_ns > profile->period_ns)
		r = put_comment(writer, "lowest_rate_hz=%.6g",
			(double)NSEC_PER_SEC / profile->longest_period_ns);
	if (r == 0)
		r = put_comment(writer, "cpus=%u", profile->cpu_count);
	if (r == 0)
		r = put_comment(writer, "fired=%llu", (unsigned long long)accounts->fired);
	if (r == 0)
		r = put_comment(
			writer, "stored=%llu", (unsigned long long)accounts_stored(accounts));
	for (enum pilotlight_drop reason = 0; r == 0 && reason < PILOTLIGHT_DROP_COUNT; reason++)
		r = put_comment(writer, "dropped %s=%llu", accounts_drop_name(reason),
			(unsigned long long)accounts->dropped[reason]);
	if (r < 0)
		return r;
	protobuf_end(&writer->part, begin);
	return pprof_writer_send(writer);
}

static int write_strings(struct pprof_writer *writer)
{
	for (uint32_t i = 0; i < writer->tables.strings.count; i++) {
		const char *string = string_pool_get(&writer->tables.strings, i);
		int r;

		protobuf_bytes(&writer->part, PROFILE_STRING, string, strlen(string));
		r = pprof_writer_send(writer);
		if (r < 0)
			return r;
	}
	return 0;
}

int pprof_write(
	const struct profile *profile, const struct pprof_options *options, struct output *output)
{
	static int (*const parts[])(struct pprof_writer * writer) = {
		write_types,
		write_time,
		pprof_write_samples,
		pprof_write_losses,
		pprof_write_locations,
		pprof_write_mappings,
		pprof_write_functions,
		write_comments,
		write_strings,
	};
	_cleanup_(pprof_writer_freep) struct pprof_writer *writer = NULL;
	int r;

	r = pprof_writer_new(profile, options, output, &writer);
	if (r < 0)
		return r;
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		r = parts[i](writer);
		if (r < 0)
			return r;
	}
	r = output_finish(&writer->plain);
	if (r < 0)
		return r;
	return gzip_finish(writer->gzip);
}
