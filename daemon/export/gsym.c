/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tables in front say where each function's information will stand, so all functions are
 * encoded twice: for their sizes, and to be written. That takes less memory than to keep them.
 */
#include "export/gsym.h"

#include "base/array.h"
#include "export/gsym_bytes.h"
#include "export/gsym_inlines.h"
#include "export/gsym_lines.h"
#include "export/gsym_tables.h"

#include <errno.h>
#include <string.h>

enum {
	GSYM_MAGIC = 0x4753594d,
	GSYM_VERSION = 1,
	INFO_END = 0,
	INFO_LINES = 1,
	INFO_INLINES = 2,
	INFO_BYTES = 64, /* of a function, besides lines and runs */
	ALIGNMENT = 4,
};

struct gsym_header {
	uint32_t magic;
	uint16_t version;
	uint8_t address_bytes;
	uint8_t uuid_bytes;
	uint64_t base_address;
	uint32_t address_count;
	uint32_t string_offset;
	uint32_t string_bytes;
	uint8_t uuid[20];
};
_Static_assert(sizeof(struct gsym_header) == 48, "header");

struct gsym_file_entry {
	uint32_t folder, name; /* strings */
};

struct gsym_writer {
	struct gsym_tables tables;
	struct gsym_inlines inlines;
	struct gsym_bytes function; /* the one at hand */
	uint32_t *starts;	    /* owned, as the next; by function */
	uint32_t *info_offsets;	    /* in the file */
	size_t start_capacity, info_capacity;
	size_t function_count;
	uint64_t info_bytes; /* of all functions */
};

static void gsym_writer_done(struct gsym_writer *writer)
{
	gsym_bytes_done(&writer->function);
	gsym_inlines_done(&writer->inlines);
	gsym_tables_done(&writer->tables);
	free(writer->starts);
	free(writer->info_offsets);
}

static int gsym_writer_init(struct gsym_writer *writer, const struct symbol_file *file)
{
	int r;

	*writer = (struct gsym_writer){ 0 };
	r = gsym_tables_init(&writer->tables, file);
	if (r < 0)
		return r;
	gsym_inlines_init(&writer->inlines, &writer->tables);
	gsym_bytes_init(&writer->function,
		INFO_BYTES + GSYM_LINE_BYTES_MAX * (writer->tables.row_count + 1) +
			GSYM_RUN_BYTES_MAX * gsym_inlines_runs_max(&writer->tables));
	return 0;
}

static int encode_function(
	struct gsym_writer *writer, const struct gsym_range *range, const struct gsym_rows *rows)
{
	struct gsym_bytes *bytes = &writer->function;
	bool has_calls;
	size_t begin;
	int r;

	r = gsym_inlines_find(&writer->inlines, range);
	if (r < 0)
		return r;
	has_calls = gsym_inlines_has_calls(&writer->inlines);

	gsym_bytes_clear(bytes);
	gsym_bytes_u32(bytes, range->end - range->start);
	gsym_bytes_u32(bytes, gsym_tables_name(&writer->tables, range->root));
	/* Readers look at inlined calls only where there is a line. */
	if (rows->has_lines || has_calls) {
		gsym_bytes_u32(bytes, INFO_LINES);
		begin = gsym_bytes_begin(bytes);
		gsym_lines_encode(bytes, &writer->tables, range, rows);
		gsym_bytes_end(bytes, begin);
	}
	if (has_calls) {
		gsym_bytes_u32(bytes, INFO_INLINES);
		begin = gsym_bytes_begin(bytes);
		gsym_inlines_encode(&writer->inlines, bytes);
		gsym_bytes_end(bytes, begin);
	}
	gsym_bytes_u32(bytes, INFO_END);
	gsym_bytes_u32(bytes, 0);
	gsym_bytes_pad(bytes);
	return bytes->error;
}

/* Encodes one function after the other, and has `take` take it. */
static int each_function(struct gsym_writer *writer,
	int (*take)(struct gsym_writer *writer, const struct gsym_range *range, void *context),
	void *context)
{
	struct gsym_range range = { 0 };
	struct gsym_rows rows = { 0 };
	int r;

	while (gsym_tables_find_range(&writer->tables, range.boundary_end, &range)) {
		rows = gsym_lines_find(&writer->tables, &range, rows.row);
		r = encode_function(writer, &range, &rows);
		if (r < 0)
			return r;
		r = take(writer, &range, context);
		if (r < 0)
			return r;
	}
	return 0;
}

static int note_function(struct gsym_writer *writer, const struct gsym_range *range, void *context)
{
	size_t count = writer->function_count + 1;
	size_t limit = writer->tables.boundary_count;
	int r;

	(void)context;
	r = ARRAY_RESERVE(writer->starts, &writer->start_capacity, count, limit);
	if (r < 0)
		return r;
	r = ARRAY_RESERVE(writer->info_offsets, &writer->info_capacity, count, limit);
	if (r < 0)
		return r;
	if (writer->info_bytes > UINT32_MAX)
		return -EFBIG;
	writer->starts[writer->function_count] = range->start;
	writer->info_offsets[writer->function_count] = (uint32_t)writer->info_bytes;
	writer->function_count = count;
	writer->info_bytes += writer->function.size;
	return 0;
}

static int write_function(struct gsym_writer *writer, const struct gsym_range *range, void *context)
{
	struct output *output = context;

	(void)range;
	output_write(output, writer->function.bytes, writer->function.size);
	return output->error;
}

static void write_header(
	const struct gsym_writer *writer, uint32_t string_offset, struct output *output)
{
	const struct pilotlight_symbol_header *from = symbol_file_header(writer->tables.file);
	struct gsym_header header = {
		.magic = GSYM_MAGIC,
		.version = GSYM_VERSION,
		.address_bytes = sizeof(writer->starts[0]),
		.uuid_bytes = from->identity_bytes,
		.base_address = from->base_vaddr,
		.address_count = (uint32_t)writer->function_count,
		.string_offset = string_offset,
		.string_bytes = writer->tables.string_size,
	};

	memcpy(header.uuid, from->identity, sizeof(header.uuid));
	output_write(output, &header, sizeof(header));
}

static void write_files(const struct gsym_writer *writer, struct output *output)
{
	struct gsym_file_entry entry = { 0 };

	output_write(output, &writer->tables.file_count, sizeof(writer->tables.file_count));
	output_write(output, &entry, sizeof(entry));
	for (uint32_t i = 1; i < writer->tables.file_count; i++) {
		entry.name = gsym_tables_path(&writer->tables, i);
		output_write(output, &entry, sizeof(entry));
	}
}

/* The symbol file's own, of which the first is empty, and an empty one that is not the first. */
static void write_strings(const struct gsym_writer *writer, struct output *output)
{
	uint64_t bytes = symbol_file_count(writer->tables.file, PILOTLIGHT_SYMBOL_STRINGS);

	if (bytes > 0)
		output_write(output, symbol_file_strings(writer->tables.file), bytes);
	else
		output_char(output, '\0');
	output_char(output, '\0');
}

/* The whole file, once the functions' sizes are known. */
static int write_all(struct gsym_writer *writer, struct output *output)
{
	uint64_t addresses_bytes = writer->function_count * sizeof(writer->starts[0]);
	uint64_t string_offset =
		sizeof(struct gsym_header) + 2 * addresses_bytes +
		sizeof(writer->tables.file_count) +
		(uint64_t)writer->tables.file_count * sizeof(struct gsym_file_entry);
	uint64_t string_end = string_offset + writer->tables.string_size;
	uint64_t padding = -string_end % ALIGNMENT;
	uint64_t info_offset = string_end + padding;

	if (info_offset + writer->info_bytes > UINT32_MAX)
		return -EFBIG;
	for (size_t i = 0; i < writer->function_count; i++)
		writer->info_offsets[i] += (uint32_t)info_offset;

	write_header(writer, (uint32_t)string_offset, output);
	output_write(output, writer->starts, addresses_bytes);
	output_write(output, writer->info_offsets, addresses_bytes);
	write_files(writer, output);
	write_strings(writer, output);
	output_write(output, &(uint32_t){ 0 }, padding);
	return each_function(writer, write_function, output);
}

int gsym_write(const struct symbol_file *file, struct output *output)
{
	_cleanup_(gsym_writer_done) struct gsym_writer writer;
	int r;

	r = gsym_writer_init(&writer, file);
	if (r < 0)
		return r;
	r = each_function(&writer, note_function, NULL);
	if (r < 0)
		return r;
	if (writer.function_count == 0)
		return -ENODATA;
	r = write_all(&writer, output);
	return r < 0 ? r : output->error;
}
