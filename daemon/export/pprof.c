/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Each of the message's parts is encoded into a small buffer and goes through the compressor at
 * once: samples, locations, mappings, functions, what it is of, strings. Protobuf leaves the order
 * of fields free, so the tables come after what has filled them.
 */
#include "export/pprof.h"

#include "base/array.h"
#include "base/clock.h"
#include "export/gzip.h"
#include "export/pprof_tables.h"
#include "export/protobuf.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_MAPPING = 3,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING = 6,
	PROFILE_TIME_NS = 9,
	PROFILE_DURATION_NS = 10,
	PROFILE_PERIOD_TYPE = 11,
	PROFILE_PERIOD = 12,
	PROFILE_COMMENT = 13,
	PROFILE_DEFAULT_SAMPLE_TYPE = 14,

	VALUE_TYPE_TYPE = 1,
	VALUE_TYPE_UNIT = 2,

	SAMPLE_LOCATION = 1, /* leaf first */
	SAMPLE_VALUE = 2,
	SAMPLE_LABEL = 3,

	LABEL_KEY = 1,
	LABEL_TEXT = 2,
	LABEL_NUMBER = 3,

	MAPPING_ID = 1,
	MAPPING_START = 2,
	MAPPING_LIMIT = 3,
	MAPPING_OFFSET = 4,
	MAPPING_FILE = 5,
	MAPPING_BUILD_ID = 6,
	MAPPING_HAS_FUNCTIONS = 7,
	MAPPING_HAS_FILES = 8,
	MAPPING_HAS_LINES = 9,
	MAPPING_HAS_INLINED = 10,

	LOCATION_ID = 1,
	LOCATION_MAPPING = 2,
	LOCATION_ADDRESS = 3,
	LOCATION_LINE = 4, /* innermost first */

	LINE_FUNCTION = 1,
	LINE_LINE = 2,
	LINE_COLUMN = 3,

	FUNCTION_ID = 1,
	FUNCTION_NAME = 2,
	FUNCTION_SYSTEM_NAME = 3,
	FUNCTION_FILE = 4,
};

enum {
	COMMENT_BYTES = 256,
	/* Of a part in the buffer: a field or two for each node of a stack or frame of a location.
	 */
	PART_BYTES = 8 * 1024,
	PART_BYTES_PER_ELEMENT = 40,
};

struct pprof_keys {
	uint32_t comm, pid, tid;
};

struct pprof_writer {
	const struct profile *profile;
	struct pprof_tables tables;
	struct pprof_keys keys;
	struct protobuf part;
	struct gzip *gzip;
	struct output plain; /* gathers the parts for the compressor */
};

static void writer_free(struct pprof_writer *writer)
{
	gzip_free(writer->gzip);
	protobuf_done(&writer->part);
	pprof_tables_done(&writer->tables);
	free(writer);
}
DEFINE_CLEANUP(struct pprof_writer, writer_free);

static int writer_new(const struct profile *profile, const struct pprof_options *options,
	struct output *output, struct pprof_writer **ret_writer)
{
	_cleanup_(writer_freep) struct pprof_writer *writer = calloc(1, sizeof(*writer));
	size_t elements = profile->nodes.count + profile->frames.count;
	int r;

	if (!writer)
		return -ENOMEM;
	writer->profile = profile;
	protobuf_init(&writer->part, PART_BYTES + elements * PART_BYTES_PER_ELEMENT);
	r = pprof_tables_init(&writer->tables, profile);
	if (r < 0)
		return r;
	r = gzip_new(output, options->compression_level, &writer->gzip);
	if (r < 0)
		return r;
	output_init(&writer->plain, gzip_write, writer->gzip);
	*ret_writer = TAKE_PTR(writer);
	return 0;
}

/* Ends a part of the message: what the buffer holds goes on its way. */
static int send_part(struct pprof_writer *writer)
{
	if (writer->part.error < 0)
		return writer->part.error;
	output_write(&writer->plain, writer->part.bytes, writer->part.size);
	protobuf_clear(&writer->part);
	return writer->plain.error;
}

/* Values are signed in the message. */
static uint64_t saturate(uint64_t value)
{
	return value < INT64_MAX ? value : INT64_MAX;
}

static uint64_t add(uint64_t a, uint64_t b)
{
	return __builtin_add_overflow(a, b, &a) ? UINT64_MAX : a;
}

static void put_values(struct pprof_writer *writer, uint64_t count)
{
	size_t begin = protobuf_begin(&writer->part, SAMPLE_VALUE);
	uint64_t cpu_ns;

	if (__builtin_mul_overflow(count, writer->profile->period_ns, &cpu_ns))
		cpu_ns = UINT64_MAX;
	protobuf_varint(&writer->part, saturate(count));
	protobuf_varint(&writer->part, saturate(cpu_ns));
	protobuf_end(&writer->part, begin);
}

static void put_label(struct pprof_writer *writer, uint32_t key, uint32_t field, uint64_t value)
{
	size_t begin = protobuf_begin(&writer->part, SAMPLE_LABEL);

	protobuf_u64(&writer->part, LABEL_KEY, key);
	protobuf_u64(&writer->part, field, value);
	protobuf_end(&writer->part, begin);
}

static int put_labels(struct pprof_writer *writer, const struct profile_thread *thread)
{
	uint32_t comm;
	int r;

	r = pprof_tables_string(&writer->tables, thread->comm, &comm);
	if (r < 0)
		return r;
	/* An empty text would be taken for a number. */
	if (comm != 0)
		put_label(writer, writer->keys.comm, LABEL_TEXT, comm);
	put_label(writer, writer->keys.pid, LABEL_NUMBER, thread->tgid);
	put_label(writer, writer->keys.tid, LABEL_NUMBER, thread->tid);
	return 0;
}

static void put_stack(struct pprof_writer *writer, uint32_t node)
{
	const struct profile_node *nodes = writer->profile->nodes.items;
	size_t begin = protobuf_begin(&writer->part, SAMPLE_LOCATION);

	if (node == PROFILE_ROOT)
		protobuf_varint(&writer->part, writer->tables.extra_location_ids[PPROF_NO_STACK]);
	for (; node != PROFILE_ROOT; node = nodes[node].parent)
		protobuf_varint(&writer->part, writer->tables.location_ids[nodes[node].location]);
	protobuf_end(&writer->part, begin);
}

static int write_samples(struct pprof_writer *writer)
{
	const struct pprof_tables *tables = &writer->tables;

	for (size_t i = 0; i < tables->sample_count;) {
		uint32_t first = tables->samples[i];
		const struct profile_sample *sample = &writer->profile->samples.items[first];
		size_t begin = protobuf_begin(&writer->part, PROFILE_SAMPLE);
		uint64_t count = 0;
		int r;

		for (; i < tables->sample_count; i++) {
			if (!pprof_tables_same_sample(tables, first, tables->samples[i]))
				break;
			count = add(
				count, writer->profile->samples.items[tables->samples[i]].count);
		}
		put_stack(writer, sample->node);
		put_values(writer, count);
		r = put_labels(writer, &writer->profile->threads.items[sample->thread]);
		if (r < 0)
			return r;
		protobuf_end(&writer->part, begin);
		r = send_part(writer);
		if (r < 0)
			return r;
	}
	return 0;
}

static int write_losses(struct pprof_writer *writer)
{
	for (enum pilotlight_drop reason = 0; reason < PILOTLIGHT_DROP_COUNT; reason++) {
		uint32_t location = writer->tables.extra_location_ids[reason];
		size_t begin, stack;
		int r;

		if (location == 0)
			continue;
		begin = protobuf_begin(&writer->part, PROFILE_SAMPLE);
		stack = protobuf_begin(&writer->part, SAMPLE_LOCATION);
		protobuf_varint(&writer->part, location);
		protobuf_end(&writer->part, stack);
		put_values(writer, writer->profile->accounts.dropped[reason]);
		protobuf_end(&writer->part, begin);
		r = send_part(writer);
		if (r < 0)
			return r;
	}
	return 0;
}

static int put_line(struct pprof_writer *writer, const struct profile_frame *frame)
{
	struct pprof_function function;
	uint32_t id;
	size_t begin;
	int r;

	r = pprof_tables_string(&writer->tables, frame->function, &function.name);
	if (r < 0)
		return r;
	r = pprof_tables_string(&writer->tables, frame->file, &function.file);
	if (r < 0)
		return r;
	if (function.name == 0 && function.file == 0)
		return 0;
	r = pprof_tables_function(&writer->tables, &function, &id);
	if (r < 0)
		return r;
	begin = protobuf_begin(&writer->part, LOCATION_LINE);
	protobuf_u64(&writer->part, LINE_FUNCTION, id);
	protobuf_u64(&writer->part, LINE_LINE, frame->line);
	protobuf_u64(&writer->part, LINE_COLUMN, frame->column);
	protobuf_end(&writer->part, begin);
	return 0;
}

static int write_location(struct pprof_writer *writer, size_t index)
{
	const struct profile *profile = writer->profile;
	const struct profile_location *location = &profile->locations.items[index];
	uint32_t mapping = writer->tables.mappings[location->binary].id;
	size_t begin = protobuf_begin(&writer->part, PROFILE_LOCATION);

	protobuf_u64(&writer->part, LOCATION_ID, writer->tables.location_ids[index]);
	protobuf_u64(&writer->part, LOCATION_MAPPING, mapping);
	/* Without a mapping it is no place in code, and its address only tells it from others. */
	if (mapping > 0)
		protobuf_u64(&writer->part, LOCATION_ADDRESS, location->address);
	for (uint32_t i = 0; i < location->frame_count; i++) {
		int r = put_line(writer, &profile->frames.items[location->first_frame + i]);

		if (r < 0)
			return r;
	}
	protobuf_end(&writer->part, begin);
	return send_part(writer);
}

static int write_extra_location(struct pprof_writer *writer, uint32_t extra)
{
	struct pprof_function function = { 0 };
	char text[COMMENT_BYTES] = "[unknown]";
	size_t begin, line;
	uint32_t id;
	int r;

	if (extra != PPROF_NO_STACK)
		(void)snprintf(text, sizeof(text), "[lost: %s]",
			accounts_drop_name((enum pilotlight_drop)extra));
	r = pprof_tables_text(&writer->tables, text, &function.name);
	if (r < 0)
		return r;
	r = pprof_tables_function(&writer->tables, &function, &id);
	if (r < 0)
		return r;
	begin = protobuf_begin(&writer->part, PROFILE_LOCATION);
	protobuf_u64(&writer->part, LOCATION_ID, writer->tables.extra_location_ids[extra]);
	line = protobuf_begin(&writer->part, LOCATION_LINE);
	protobuf_u64(&writer->part, LINE_FUNCTION, id);
	protobuf_end(&writer->part, line);
	protobuf_end(&writer->part, begin);
	return send_part(writer);
}

static int write_locations(struct pprof_writer *writer)
{
	int r;

	for (size_t i = 0; i < writer->profile->locations.count; i++) {
		if (writer->tables.location_ids[i] == 0)
			continue;
		r = write_location(writer, i);
		if (r < 0)
			return r;
	}
	for (uint32_t i = 0; i < PPROF_EXTRA_COUNT; i++) {
		if (writer->tables.extra_location_ids[i] == 0)
			continue;
		r = write_extra_location(writer, i);
		if (r < 0)
			return r;
	}
	return 0;
}

static int write_mapping(struct pprof_writer *writer, size_t index)
{
	const struct profile_binary *binary = &writer->profile->binaries.items[index];
	const struct pprof_mapping *mapping = &writer->tables.mappings[index];
	char hex[BUILD_ID_HEX_BYTES];
	uint32_t file, build_id;
	size_t begin;
	int r;

	r = pprof_tables_string(&writer->tables, binary->path, &file);
	/* Readers join neighbouring mappings that have neither a file nor a range. */
	if (r == 0 && file == 0)
		r = pprof_tables_text(
			&writer->tables, binary->kind == BINARY_JIT ? "[jit]" : "[unknown]", &file);
	if (r == 0)
		r = pprof_tables_text(
			&writer->tables, build_id_format(&binary->build_id, hex), &build_id);
	if (r < 0)
		return r;
	begin = protobuf_begin(&writer->part, PROFILE_MAPPING);
	protobuf_u64(&writer->part, MAPPING_ID, mapping->id);
	protobuf_u64(&writer->part, MAPPING_START, binary->text_vaddr);
	protobuf_u64(&writer->part, MAPPING_LIMIT, add(binary->text_vaddr, binary->text_bytes));
	protobuf_u64(&writer->part, MAPPING_OFFSET, binary->text_offset);
	protobuf_u64(&writer->part, MAPPING_FILE, file);
	protobuf_u64(&writer->part, MAPPING_BUILD_ID, build_id);
	protobuf_u64(&writer->part, MAPPING_HAS_FUNCTIONS, mapping->has_functions);
	protobuf_u64(&writer->part, MAPPING_HAS_FILES, mapping->has_files);
	protobuf_u64(&writer->part, MAPPING_HAS_LINES, mapping->has_lines);
	protobuf_u64(&writer->part, MAPPING_HAS_INLINED, mapping->has_inlined);
	protobuf_end(&writer->part, begin);
	return send_part(writer);
}

static int write_mappings(struct pprof_writer *writer)
{
	for (size_t i = 0; i < writer->profile->binaries.count; i++) {
		int r = writer->tables.mappings[i].id > 0 ? write_mapping(writer, i) : 0;

		if (r < 0)
			return r;
	}
	return 0;
}

static int write_functions(struct pprof_writer *writer)
{
	for (size_t i = 0; i < writer->tables.function_count; i++) {
		const struct pprof_function *function = &writer->tables.functions[i];
		size_t begin = protobuf_begin(&writer->part, PROFILE_FUNCTION);
		int r;

		protobuf_u64(&writer->part, FUNCTION_ID, i + 1);
		protobuf_u64(&writer->part, FUNCTION_NAME, function->name);
		protobuf_u64(&writer->part, FUNCTION_SYSTEM_NAME, function->name);
		protobuf_u64(&writer->part, FUNCTION_FILE, function->file);
		protobuf_end(&writer->part, begin);
		r = send_part(writer);
		if (r < 0)
			return r;
	}
	return 0;
}

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
		r = pprof_tables_text(&writer->tables, "comm", &writer->keys.comm);
	if (r == 0)
		r = pprof_tables_text(&writer->tables, "pid", &writer->keys.pid);
	if (r == 0)
		r = pprof_tables_text(&writer->tables, "tid", &writer->keys.tid);
	if (r < 0)
		return r;
	protobuf_u64(&writer->part, PROFILE_DEFAULT_SAMPLE_TYPE, cpu);
	protobuf_u64(&writer->part, PROFILE_PERIOD, saturate(writer->profile->period_ns));
	return send_part(writer);
}

static int write_time(struct pprof_writer *writer)
{
	const struct profile *profile = writer->profile;

	protobuf_u64(&writer->part, PROFILE_TIME_NS, saturate(profile->start_ns));
	if (profile->end_ns > profile->start_ns)
		protobuf_u64(&writer->part, PROFILE_DURATION_NS,
			saturate(profile->end_ns - profile->start_ns));
	return send_part(writer);
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

/* What the profile is of and its accounts, as "key=value" lines (I1). */
static int write_comments(struct pprof_writer *writer)
{
	const struct profile *profile = writer->profile;
	const struct accounts *accounts = &profile->accounts;
	size_t begin = protobuf_begin(&writer->part, PROFILE_COMMENT);
	int r;

	r = put_comment(writer, "event=%s", string_pool_get(&profile->strings, profile->event));
	if (r == 0 && profile->period_ns > 0)
		r = put_comment(writer, "rate_hz=%.6g", (double)NSEC_PER_SEC / profile->period_ns);
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
	return send_part(writer);
}

static int write_strings(struct pprof_writer *writer)
{
	for (uint32_t i = 0; i < writer->tables.strings.count; i++) {
		const char *string = string_pool_get(&writer->tables.strings, i);
		int r;

		protobuf_bytes(&writer->part, PROFILE_STRING, string, strlen(string));
		r = send_part(writer);
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
		write_samples,
		write_losses,
		write_locations,
		write_mappings,
		write_functions,
		write_comments,
		write_strings,
	};
	_cleanup_(writer_freep) struct pprof_writer *writer = NULL;
	int r;

	r = writer_new(profile, options, output, &writer);
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
