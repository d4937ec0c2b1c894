/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes locations, their mappings, and the functions that they name. */
#include "export/pprof_fields.h"
#include "export/pprof_writer.h"

#include <stdio.h>

enum { TEXT_BYTES = 256 };

static void put_line(struct pprof_writer *writer, const struct profile_frame *frame)
{
	struct pprof_function function;
	size_t begin;

	function.name = pprof_tables_string(&writer->tables, frame->function);
	function.file = pprof_tables_string(&writer->tables, frame->file);
	if (function.name == 0 && function.file == 0)
		return;
	begin = protobuf_begin(&writer->part, LOCATION_LINE);
	protobuf_u64(
		&writer->part, LINE_FUNCTION, pprof_tables_function(&writer->tables, &function));
	protobuf_u64(&writer->part, LINE_LINE, frame->line);
	protobuf_u64(&writer->part, LINE_COLUMN, frame->column);
	protobuf_end(&writer->part, begin);
}

static void write_location(struct pprof_writer *writer, size_t index)
{
	const struct profile *profile = writer->profile;
	const struct profile_location *location = &profile->locations.items[index];
	uint32_t mapping = writer->tables.mappings[location->binary].id;
	size_t begin = protobuf_begin(&writer->part, PROFILE_LOCATION);

	protobuf_u64(&writer->part, LOCATION_ID, writer->tables.location_ids[index]);
	protobuf_u64(&writer->part, LOCATION_MAPPING, mapping);
	/* With no mapping it is not a place in code; its address only makes it distinct. */
	if (mapping > 0)
		protobuf_u64(&writer->part, LOCATION_ADDRESS, location->address);
	for (uint32_t i = 0; i < location->frame_count; i++)
		put_line(writer, &profile->frames.items[location->first_frame + i]);
	protobuf_end(&writer->part, begin);
	pprof_writer_send(writer);
}

/* A location that is no code. */
static void write_text_location(struct pprof_writer *writer, uint32_t id, const char *text)
{
	struct pprof_function function = { .name = pprof_tables_text(&writer->tables, text) };
	size_t begin = protobuf_begin(&writer->part, PROFILE_LOCATION), line;

	protobuf_u64(&writer->part, LOCATION_ID, id);
	line = protobuf_begin(&writer->part, LOCATION_LINE);
	protobuf_u64(
		&writer->part, LINE_FUNCTION, pprof_tables_function(&writer->tables, &function));
	protobuf_end(&writer->part, line);
	protobuf_end(&writer->part, begin);
	pprof_writer_send(writer);
}

static void write_extra_location(struct pprof_writer *writer, uint32_t extra)
{
	char text[TEXT_BYTES] = "[unknown]";

	if (extra != PPROF_NO_STACK)
		(void)snprintf(text, sizeof(text), "[lost: %s]",
			accounts_drop_name((enum pilotlight_drop)extra));
	write_text_location(writer, writer->tables.extra_location_ids[extra], text);
}

static void write_comm_locations(struct pprof_writer *writer)
{
	const uint32_t *ids = writer->tables.comm_location_ids;
	const struct string_pool *strings = &writer->profile->strings;

	for (uint32_t i = 0; ids && i < strings->count; i++)
		if (ids[i] > 0)
			write_text_location(
				writer, ids[i], i > 0 ? string_pool_get(strings, i) : "[unknown]");
}

void pprof_write_locations(struct pprof_writer *writer)
{
	for (size_t i = 0; i < writer->profile->locations.count; i++)
		if (writer->tables.location_ids[i] > 0)
			write_location(writer, i);
	for (uint32_t i = 0; i < PPROF_EXTRA_COUNT; i++)
		if (writer->tables.extra_location_ids[i] > 0)
			write_extra_location(writer, i);
	write_comm_locations(writer);
}

static void write_mapping(struct pprof_writer *writer, size_t index)
{
	const struct profile_binary *binary = &writer->profile->binaries.items[index];
	const struct pprof_mapping *mapping = &writer->tables.mappings[index];
	char hex[BUILD_ID_HEX_BYTES];
	uint32_t file = pprof_tables_string(&writer->tables, binary->path), build_id;
	uint64_t limit;
	size_t begin;

	/* Readers merge adjacent mappings that have neither a file nor a range. */
	if (file == 0)
		file = pprof_tables_text(
			&writer->tables, binary->kind == BINARY_JIT ? "[jit]" : "[unknown]");
	build_id = pprof_tables_text(&writer->tables, build_id_format(&binary->build_id, hex));
	if (__builtin_add_overflow(binary->text_vaddr, binary->text_bytes, &limit))
		limit = UINT64_MAX;
	begin = protobuf_begin(&writer->part, PROFILE_MAPPING);
	protobuf_u64(&writer->part, MAPPING_ID, mapping->id);
	protobuf_u64(&writer->part, MAPPING_START, binary->text_vaddr);
	protobuf_u64(&writer->part, MAPPING_LIMIT, limit);
	protobuf_u64(&writer->part, MAPPING_OFFSET, binary->text_offset);
	protobuf_u64(&writer->part, MAPPING_FILE, file);
	protobuf_u64(&writer->part, MAPPING_BUILD_ID, build_id);
	protobuf_u64(&writer->part, MAPPING_HAS_FUNCTIONS, mapping->has_functions);
	protobuf_u64(&writer->part, MAPPING_HAS_FILES, mapping->has_files);
	protobuf_u64(&writer->part, MAPPING_HAS_LINES, mapping->has_lines);
	protobuf_u64(&writer->part, MAPPING_HAS_INLINED, mapping->has_inlined);
	protobuf_end(&writer->part, begin);
	pprof_writer_send(writer);
}

void pprof_write_mappings(struct pprof_writer *writer)
{
	for (size_t i = 0; i < writer->profile->binaries.count; i++)
		if (writer->tables.mappings[i].id > 0)
			write_mapping(writer, i);
}

void pprof_write_functions(struct pprof_writer *writer)
{
	for (size_t i = 0; i < writer->tables.function_count; i++) {
		const struct pprof_function *function = &writer->tables.functions[i];
		size_t begin = protobuf_begin(&writer->part, PROFILE_FUNCTION);

		protobuf_u64(&writer->part, FUNCTION_ID, i + 1);
		protobuf_u64(&writer->part, FUNCTION_NAME, function->name);
		protobuf_u64(&writer->part, FUNCTION_SYSTEM_NAME, function->name);
		protobuf_u64(&writer->part, FUNCTION_FILE, function->file);
		protobuf_end(&writer->part, begin);
		pprof_writer_send(writer);
	}
}
