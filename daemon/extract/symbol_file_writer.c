/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/symbol_file_writer.h"

#include "base/cleanup.h"
#include "base/output.h"
#include "symbol/symbol_file_check.h"
#include "symbol/symbol_header.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include <xxhash.h>

void symbol_file_writer_init(struct symbol_file_writer *writer,
	const struct symbol_identity *identity, enum pilotlight_symbol_rank rank,
	const char *origin)
{
	*writer = (struct symbol_file_writer){ 0 };
	symbol_header_init(&writer->head.header, identity, rank, origin);
}

void symbol_file_writer_add(struct symbol_file_writer *writer, enum pilotlight_symbol_section_id id,
	const void *contents, size_t count, size_t entry_bytes)
{
	size_t i = writer->head.header.section_count;

	if (count == 0)
		return;
	assert(i < PILOTLIGHT_SYMBOL_SECTIONS_MAX);
	writer->head.sections[i] = (struct pilotlight_symbol_section){
		.id = id,
		.entry_bytes = (uint32_t)entry_bytes,
		.bytes = (uint64_t)count * entry_bytes,
	};
	writer->contents[i] = contents;
	writer->head.header.section_count++;
}

void symbol_file_writer_add_array(struct symbol_file_writer *writer,
	enum pilotlight_symbol_section_id id, const struct scratch_array *array)
{
	symbol_file_writer_add(writer, id, array->items, array->count, array->item_bytes);
}

static uint64_t align(uint64_t bytes)
{
	return (bytes + PILOTLIGHT_SYMBOL_ALIGNMENT - 1) / PILOTLIGHT_SYMBOL_ALIGNMENT *
	       PILOTLIGHT_SYMBOL_ALIGNMENT;
}

static size_t head_bytes_of(const struct symbol_file_writer *writer)
{
	return sizeof(writer->head.header) +
	       writer->head.header.section_count * sizeof(writer->head.sections[0]);
}

static void lay_out(struct symbol_file_writer *writer)
{
	uint64_t end = head_bytes_of(writer);

	for (size_t i = 0; i < writer->head.header.section_count; i++) {
		writer->head.sections[i].offset = align(end);
		end = writer->head.sections[i].offset + writer->head.sections[i].bytes;
	}
	writer->head.header.file_bytes = end;
}

static void hash(struct symbol_file_writer *writer)
{
	for (size_t i = 0; i < writer->head.header.section_count; i++)
		writer->head.sections[i].hash =
			XXH3_64bits(writer->contents[i], writer->head.sections[i].bytes);
	writer->head.header.header_hash = 0;
	writer->head.header.header_hash = XXH3_64bits(&writer->head, head_bytes_of(writer));
}

int symbol_file_writer_write(struct symbol_file_writer *writer, int fd)
{
	static const char padding[PILOTLIGHT_SYMBOL_ALIGNMENT];
	_cleanup_free_ struct output *output = malloc(sizeof(*output));

	if (!output)
		return -ENOMEM;
	lay_out(writer);
	if (writer->head.header.file_bytes > SYMBOL_FILE_BYTES_MAX)
		return -EFBIG;
	hash(writer);
	output_init_fd(output, fd);
	output_write(output, &writer->head, head_bytes_of(writer));
	for (size_t i = 0; i < writer->head.header.section_count; i++) {
		const struct pilotlight_symbol_section *section = &writer->head.sections[i];

		output_write(output, padding, section->offset - output->written_bytes);
		output_write(output, writer->contents[i], section->bytes);
	}
	return output_finish(output);
}
