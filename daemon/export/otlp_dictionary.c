/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Element 0 of each table is empty, and means "none" where others refer to it. */
#include "export/otlp_fields.h"
#include "export/otlp_writer.h"

#include "base/array.h"

#include <stdio.h>
#include <string.h>

enum { TEXT_BYTES = 256 };

/* --- attributes --- */

static bool attribute_equal(const void *owner, uint32_t id, const void *key)
{
	const struct otlp_writer *writer = owner;
	const struct otlp_attribute *known = &writer->attributes[id];
	const struct otlp_attribute *wanted = key;

	return known->key == wanted->key && known->is_number == wanted->is_number &&
	       known->value == wanted->value;
}

static int append(struct otlp_writer *writer, const struct otlp_attribute *attribute, uint64_t hash)
{
	/* Seven of each thread, one of each binary, one of each type of frame. */
	const size_t limit =
		7 * writer->profile->threads.count + writer->profile->binaries.count + 2;
	int r = ARRAY_RESERVE(writer->attributes, &writer->attribute_capacity,
		writer->attribute_count + 1, limit);

	if (r == 0)
		r = hash_index_reserve(&writer->attribute_index);
	if (r < 0)
		return r;
	hash_index_insert(&writer->attribute_index, hash, (uint32_t)writer->attribute_count);
	writer->attributes[writer->attribute_count++] = *attribute;
	return 0;
}

static uint32_t add_attribute(struct otlp_writer *writer, const struct otlp_attribute *attribute)
{
	uint64_t hash = hash_pair(attribute->key * 2ULL + attribute->is_number, attribute->value);
	uint32_t position =
		hash_index_find(&writer->attribute_index, hash, attribute_equal, writer, attribute);

	if (position != HASH_INDEX_NONE)
		return position + 1;
	if (writer->error == 0)
		writer->error = append(writer, attribute, hash);
	return writer->error < 0 ? 0 : (uint32_t)writer->attribute_count;
}

uint32_t otlp_attribute_text(struct otlp_writer *writer, const char *key, uint32_t string)
{
	const struct otlp_attribute attribute = {
		.key = pprof_tables_text(&writer->tables, key),
		.value = string,
	};

	return add_attribute(writer, &attribute);
}

uint32_t otlp_attribute_number(struct otlp_writer *writer, const char *key, uint64_t number)
{
	const struct otlp_attribute attribute = {
		.key = pprof_tables_text(&writer->tables, key),
		.is_number = true,
		.value = number,
	};

	return add_attribute(writer, &attribute);
}

static void put_attributes(struct otlp_writer *writer)
{
	struct protobuf *message = &writer->message;

	protobuf_bytes(message, DICTIONARY_ATTRIBUTE, "", 0);
	for (size_t i = 0; i < writer->attribute_count; i++) {
		const struct otlp_attribute *attribute = &writer->attributes[i];
		const size_t begin = protobuf_begin(message, DICTIONARY_ATTRIBUTE);
		size_t value;

		protobuf_u64(message, KEY_VALUE_KEY, attribute->key);
		value = protobuf_begin(message, KEY_VALUE_VALUE);
		if (attribute->is_number) {
			protobuf_u64(message, ANY_VALUE_INT, attribute->value);
		} else {
			const char *text = string_pool_get(
				&writer->tables.strings, (uint32_t)attribute->value);

			protobuf_bytes(message, ANY_VALUE_STRING, text, strlen(text));
		}
		protobuf_end(message, value);
		protobuf_end(message, begin);
	}
}

/* Lists one attribute, if there is one. */
static void put_attribute(struct protobuf *message, uint32_t field, uint32_t attribute)
{
	size_t begin;

	if (attribute == 0)
		return;
	begin = protobuf_begin(message, field);
	protobuf_varint(message, attribute);
	protobuf_end(message, begin);
}

/* --- code --- */

static void put_mapping(struct otlp_writer *writer, size_t index)
{
	const struct profile_binary *binary = &writer->profile->binaries.items[index];
	struct pprof_tables *tables = &writer->tables;
	struct protobuf *message = &writer->message;
	char hex[BUILD_ID_HEX_BYTES];
	uint32_t file = pprof_tables_string(tables, binary->path), build_id = 0;
	uint64_t limit;
	size_t begin;

	if (file == 0)
		file = pprof_tables_text(
			tables, binary->kind == BINARY_JIT ? "[jit]" : "[unknown]");
	if (binary->build_id.size > 0)
		build_id = otlp_attribute_text(writer, "process.executable.build_id.gnu",
			pprof_tables_text(tables, build_id_format(&binary->build_id, hex)));
	if (__builtin_add_overflow(binary->text_vaddr, binary->text_bytes, &limit))
		limit = UINT64_MAX;
	begin = protobuf_begin(message, DICTIONARY_MAPPING);
	protobuf_u64(message, OTLP_MAPPING_START, binary->text_vaddr);
	protobuf_u64(message, OTLP_MAPPING_LIMIT, limit);
	protobuf_u64(message, OTLP_MAPPING_OFFSET, binary->text_offset);
	protobuf_u64(message, OTLP_MAPPING_FILE, file);
	put_attribute(message, OTLP_MAPPING_ATTRIBUTES, build_id);
	protobuf_end(message, begin);
}

static void put_mappings(struct otlp_writer *writer)
{
	protobuf_bytes(&writer->message, DICTIONARY_MAPPING, "", 0);
	for (size_t i = 0; i < writer->profile->binaries.count; i++)
		if (writer->tables.mappings[i].id > 0)
			put_mapping(writer, i);
}

static void put_line(struct otlp_writer *writer, const struct profile_frame *frame)
{
	struct protobuf *message = &writer->message;
	struct pprof_function function = {
		.name = pprof_tables_string(&writer->tables, frame->function),
		.file = pprof_tables_string(&writer->tables, frame->file),
	};
	size_t begin;

	if (function.name == 0 && function.file == 0)
		return;
	begin = protobuf_begin(message, OTLP_LOCATION_LINE);
	protobuf_u64(
		message, OTLP_LINE_FUNCTION, pprof_tables_function(&writer->tables, &function));
	protobuf_u64(message, OTLP_LINE_LINE, frame->line);
	protobuf_u64(message, OTLP_LINE_COLUMN, frame->column);
	protobuf_end(message, begin);
}

/* The well-known values of profile.frame.type. Generated code does not name its language. */
static const char *frame_type(enum binary_kind kind)
{
	switch (kind) {
	case BINARY_KERNEL:
		return "kernel";
	case BINARY_EXECUTABLE:
	case BINARY_LIBRARY:
		return "native";
	case BINARY_PYTHON:
		return "cpython";
	case BINARY_JAVASCRIPT:
		return "v8js";
	case BINARY_RUBY:
		return "ruby";
	case BINARY_JAVA:
		return "jvm";
	case BINARY_PHP:
		return "php";
	case BINARY_PERL:
		return "perl";
	default:
		return NULL;
	}
}

static void put_location(struct otlp_writer *writer, size_t index)
{
	const struct profile *profile = writer->profile;
	const struct profile_location *location = &profile->locations.items[index];
	struct pprof_tables *tables = &writer->tables;
	const char *type = frame_type(profile->binaries.items[location->binary].kind);
	uint32_t mapping = tables->mappings[location->binary].id, attribute = 0;
	struct protobuf *message = &writer->message;
	size_t begin;

	if (type)
		attribute = otlp_attribute_text(
			writer, "profile.frame.type", pprof_tables_text(tables, type));
	begin = protobuf_begin(message, DICTIONARY_LOCATION);
	protobuf_u64(message, OTLP_LOCATION_MAPPING, mapping);
	/* Without a mapping it is no place in code. */
	if (mapping > 0)
		protobuf_u64(message, OTLP_LOCATION_ADDRESS, location->address);
	for (uint32_t i = 0; i < location->frame_count; i++)
		put_line(writer, &profile->frames.items[location->first_frame + i]);
	put_attribute(message, OTLP_LOCATION_ATTRIBUTES, attribute);
	protobuf_end(message, begin);
}

static void put_extra_location(struct otlp_writer *writer, uint32_t extra)
{
	struct protobuf *message = &writer->message;
	struct pprof_function function = { 0 };
	char text[TEXT_BYTES] = "[unknown]";
	size_t begin, line;

	if (extra != PPROF_NO_STACK)
		(void)snprintf(text, sizeof(text), "[lost: %s]",
			accounts_drop_name((enum pilotlight_drop)extra));
	function.name = pprof_tables_text(&writer->tables, text);
	begin = protobuf_begin(message, DICTIONARY_LOCATION);
	line = protobuf_begin(message, OTLP_LOCATION_LINE);
	protobuf_u64(
		message, OTLP_LINE_FUNCTION, pprof_tables_function(&writer->tables, &function));
	protobuf_end(message, line);
	protobuf_end(message, begin);
}

/* In the order of their ids (pprof_tables.c). */
static void put_locations(struct otlp_writer *writer)
{
	const struct pprof_tables *tables = &writer->tables;

	protobuf_bytes(&writer->message, DICTIONARY_LOCATION, "", 0);
	for (size_t i = 0; i < writer->profile->locations.count; i++)
		if (tables->location_ids[i] > 0)
			put_location(writer, i);
	for (uint32_t i = 0; i < PPROF_EXTRA_COUNT; i++)
		if (tables->extra_location_ids[i] > 0)
			put_extra_location(writer, i);
}

static void put_functions(struct otlp_writer *writer)
{
	struct protobuf *message = &writer->message;

	protobuf_bytes(message, DICTIONARY_FUNCTION, "", 0);
	for (size_t i = 0; i < writer->tables.function_count; i++) {
		const struct pprof_function *function = &writer->tables.functions[i];
		const size_t begin = protobuf_begin(message, DICTIONARY_FUNCTION);

		protobuf_u64(message, OTLP_FUNCTION_NAME, function->name);
		protobuf_u64(message, OTLP_FUNCTION_SYSTEM_NAME, function->name);
		protobuf_u64(message, OTLP_FUNCTION_FILE, function->file);
		protobuf_end(message, begin);
	}
}

static void put_stacks(struct otlp_writer *writer)
{
	const struct profile_node *nodes = writer->profile->nodes.items;
	const struct pprof_tables *tables = &writer->tables;
	struct protobuf *message = &writer->message;

	protobuf_bytes(message, DICTIONARY_STACK, "", 0);
	for (size_t i = 0; i < writer->stack_count; i++) {
		const struct otlp_stack *stack = &writer->stacks[i];
		const size_t begin = protobuf_begin(message, DICTIONARY_STACK);
		const size_t list = protobuf_begin(message, STACK_LOCATIONS);

		if (stack->node == PROFILE_ROOT)
			protobuf_varint(message, tables->extra_location_ids[stack->extra]);
		for (uint32_t node = stack->node; node != PROFILE_ROOT; node = nodes[node].parent)
			protobuf_varint(message, tables->location_ids[nodes[node].location]);
		protobuf_end(message, list);
		protobuf_end(message, begin);
	}
}

/* The link of span N of the profile has the number N + 1. */
static void put_links(struct otlp_writer *writer)
{
	const struct profile_spans *spans = &writer->profile->spans;
	struct protobuf *message = &writer->message;

	protobuf_bytes(message, DICTIONARY_LINK, "", 0);
	for (size_t i = 0; i < spans->count; i++) {
		const struct pilotlight_thread_context *ids = &spans->items[i];
		const size_t begin = protobuf_begin(message, DICTIONARY_LINK);

		protobuf_bytes(message, LINK_TRACE_ID, ids->trace_id, sizeof(ids->trace_id));
		protobuf_bytes(message, LINK_SPAN_ID, ids->span_id, sizeof(ids->span_id));
		protobuf_end(message, begin);
	}
}

/* The tables that refer to strings come before these. */
static void put_strings(struct otlp_writer *writer)
{
	for (uint32_t i = 0; i < writer->tables.strings.count; i++) {
		const char *string = string_pool_get(&writer->tables.strings, i);

		protobuf_bytes(&writer->message, DICTIONARY_STRING, string, strlen(string));
	}
}

void otlp_put_dictionary(struct otlp_writer *writer)
{
	const size_t begin = protobuf_begin(&writer->message, REQUEST_DICTIONARY);

	put_mappings(writer);
	put_locations(writer);
	put_functions(writer);
	put_links(writer);
	put_stacks(writer);
	put_attributes(writer);
	put_strings(writer);
	protobuf_end(&writer->message, begin);
}
