/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "jit/jitdump_lines.h"

#include "base/array.h"
#include "base/utf8.h"
#include "jit/code_index.h"

#include <errno.h>
#include <stdlib.h>

enum {
	ELF_HEADER_BYTES = 64, /* by which addresses are too high, see pilotlight/jitdump.h */
	BEFORE_MAX = 64 << 10, /* Erlang's first entry is of the function's head, before its code */
	BEYOND_MAX = 64,       /* an entry that ends the list */
};
#define V8_PADDING 0xdeadbeef

bool jitdump_is_v8(const struct jitdump_header *header)
{
	return header->padding == V8_PADDING;
}

void jitdump_lines_done(struct jitdump_lines *lines)
{
	free(lines->entries);
	free(lines->packed);
	*lines = (struct jitdump_lines){ 0 };
}

/* What has been added to all addresses. */
static uint64_t find_bias(const struct jitdump_header *header, const struct jitdump_record *debug,
	const struct jitdump_record *load)
{
	uint64_t lowest = UINT64_MAX, highest = 0, end;
	struct jitdump_debug_cursor cursor = { 0 };
	struct jitdump_debug_entry entry;

	if (jitdump_is_v8(header))
		return ELF_HEADER_BYTES;
	while (jitdump_debug_next(header, debug, &cursor, &entry) > 0) {
		if (entry.address < lowest)
			lowest = entry.address;
		if (entry.address > highest)
			highest = entry.address;
	}
	if (lowest < load->load.address || lowest - load->load.address < ELF_HEADER_BYTES)
		return 0;
	if (load->load.vma == 0)
		return ELF_HEADER_BYTES;
	if (__builtin_add_overflow(load->load.address, load->load.size, &end))
		return 0;
	return highest > end && highest - end <= ELF_HEADER_BYTES ? ELF_HEADER_BYTES : 0;
}

/* Freed memory, which V8 writes in the place of a name, hardly ever reads as text. */
static bool is_text(const char *bytes, size_t size)
{
	for (size_t at = 0; at < size;) {
		size_t step = utf8_sequence(bytes + at, size - at);

		if (step == 0 || (uint8_t)bytes[at] < 0x20 || bytes[at] == 0x7f)
			return false;
		at += step;
	}
	return true;
}

/* What stands before the code is of its first byte. False: no such entry can be. */
static bool find_offset(const struct jitdump_debug_entry *entry, const struct jitdump_record *load,
	uint64_t bias, uint64_t *ret_offset)
{
	const uint64_t address = entry->address - bias;

	if (entry->address < bias || entry->line < 0)
		return false;
	if (address < load->load.address) {
		*ret_offset = 0;
		return load->load.address - address <= BEFORE_MAX;
	}
	*ret_offset = address - load->load.address;
	return *ret_offset <= load->load.size || *ret_offset - load->load.size <= BEYOND_MAX;
}

static int find_file(struct code_index *index, const struct jitdump_debug_entry *entry,
	const char **last, uint32_t *file)
{
	int r;

	if (entry->file == *last)
		return 0;
	*file = 0;
	if (index && entry->file_size > 0) {
		r = code_index_file(index, entry->file, entry->file_size, file);
		if (r == -ENOMEM)
			return r;
	}
	*last = entry->file;
	return 0;
}

/*
 * Where names are damaged the walk over the entries loses its way, and notices when an address
 * makes no sense: then the entry before is the one whose name was not read to its end. Either way
 * the lines are known up to the first doubtful entry, and unknown from there on.
 */
static int collect(struct jitdump_lines *lines, const struct jitdump_header *header,
	const struct jitdump_record *debug, const struct jitdump_record *load,
	struct code_index *index, size_t *ret_count, bool *is_damaged)
{
	const uint64_t bias = find_bias(header, debug, load);
	const bool is_v8 = jitdump_is_v8(header);
	struct jitdump_debug_cursor cursor = { 0 };
	struct jitdump_debug_entry entry;
	const char *last_file = NULL;
	uint32_t file = 0;
	bool is_lost = *is_damaged, is_doubtful = false;
	size_t count = 0;
	uint64_t offset;
	int r;

	while (!is_doubtful && jitdump_debug_next(header, debug, &cursor, &entry) > 0) {
		if (!find_offset(&entry, load, bias, &offset)) {
			is_lost = true;
			break;
		}
		is_doubtful = is_v8 && !is_text(entry.file, entry.file_size);
		is_lost = is_lost && !is_doubtful;
		if (offset >= load->load.size || offset > UINT32_MAX)
			continue;
		r = is_doubtful ? 0 : find_file(index, &entry, &last_file, &file);
		if (r < 0)
			return r;
		lines->entries[count++] = (struct line_entry){
			.offset = (uint32_t)offset,
			.line = is_doubtful ? 0 : (uint32_t)entry.line,
			.column = is_v8 && entry.discriminator > 0 ? (uint32_t)entry.discriminator
								   : 0,
			.file = file,
		};
	}
	if (is_lost && count > 0)
		lines->entries[count - 1].line = 0;
	*ret_count = count;
	*is_damaged = *is_damaged || is_lost || is_doubtful;
	return 0;
}

int jitdump_lines_pack(struct jitdump_lines *lines, const struct jitdump_header *header,
	const struct jitdump_record *debug, const struct jitdump_record *load,
	struct code_index *index, const uint8_t **ret_packed, size_t *ret_size, bool *is_damaged)
{
	const size_t entry_bytes_min = sizeof(struct pilotlight_jitdump_debug_entry) + 1;
	const size_t room = debug->debug.entries_size / entry_bytes_min;
	bool is_useless = *is_damaged;
	size_t count = 0;
	int r;

	r = ARRAY_RESERVE(lines->entries, &lines->entries_capacity, room, SIZE_MAX);
	if (r == 0)
		r = ARRAY_RESERVE(lines->packed, &lines->packed_capacity,
			room * LINE_ENTRY_BYTES_MAX, SIZE_MAX);
	if (r == 0)
		r = collect(lines, header, debug, load, index, &count, &is_useless);
	if (r < 0)
		return r;
	*ret_size = line_list_pack(lines->entries, count, lines->packed);
	*ret_packed = lines->packed;
	*is_damaged = is_useless;
	return 0;
}
