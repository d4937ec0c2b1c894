/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "jit/jitdump_lines.h"

#include "base/array.h"
#include "base/utf8.h"
#include "jit/code_index.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	ELF_HEADER_BYTES = 64, /* by which addresses are too high, see pilotlight/jitdump.h */
	BEFORE_MAX = 64 << 10, /* Erlang's first entry is of the function's head, before its code */
	BEYOND_MAX = 64,       /* an entry that ends the list */
};

/* --- DEBUG_INFOs that wait --- */

void jitdump_waiting_done(struct jitdump_waiting *waiting)
{
	free(waiting->bytes);
	*waiting = (struct jitdump_waiting){ 0 };
}

unsigned jitdump_waiting_find(const struct jitdump_waiting *waiting, uint64_t address)
{
	for (unsigned i = waiting->count; i-- > 0;)
		if (waiting->slots[i].address == address && !waiting->slots[i].is_claimed)
			return i;
	return JITDUMP_WAITING_NONE;
}

/* Drops the older half. */
static void drop_oldest(struct jitdump_waiting *waiting)
{
	unsigned dropped = (waiting->count + 1) / 2;
	size_t start = dropped < waiting->count ? waiting->slots[dropped].start : waiting->size;

	for (unsigned i = 0; i < dropped; i++)
		waiting->unclaimed += !waiting->slots[i].is_claimed;
	for (unsigned i = dropped; i < waiting->count; i++)
		waiting->slots[i].start -= start;
	waiting->count -= dropped;
	waiting->size -= start;
	memmove(waiting->slots, waiting->slots + dropped, waiting->count * sizeof(*waiting->slots));
	if (waiting->size > 0)
		memmove(waiting->bytes, waiting->bytes + start, waiting->size);
}

static int make_room(struct jitdump_waiting *waiting, size_t room)
{
	while (waiting->count == JITDUMP_WAITING_COUNT_MAX ||
		room > JITDUMP_WAITING_BYTES_MAX - waiting->size)
		drop_oldest(waiting);
	return ARRAY_RESERVE(waiting->bytes, &waiting->capacity, waiting->size + room,
		(size_t)JITDUMP_WAITING_BYTES_MAX);
}

/* Copies whole entries while there is room. Returns whether that was all of them. */
static bool copy_entries(const struct jitdump_header *header, const struct jitdump_record *record,
	uint8_t *bytes, size_t room, size_t *ret_size, uint64_t *ret_count)
{
	const size_t fixed = sizeof(struct pilotlight_jitdump_debug_entry);
	struct jitdump_debug_cursor cursor = { 0 };
	struct jitdump_debug_entry entry, before = { 0 };
	size_t size = 0;
	int r;

	for (;;) {
		const size_t start = cursor.at;
		size_t taken;

		r = jitdump_debug_next(header, record, &cursor, &entry);
		if (r <= 0)
			break;
		taken = cursor.at - start;
		if (taken > room - size) {
			r = -1;
			break;
		}
		memcpy(bytes + size, record->debug.entries + start, taken);
		if (taken > fixed + 2 && before.file && entry.file_size == before.file_size &&
			memcmp(entry.file, before.file, entry.file_size) == 0) {
			memcpy(bytes + size + fixed, "\xff", 2);
			taken = fixed + 2;
		}
		before = entry;
		size += taken;
		*ret_count = cursor.seen;
	}
	*ret_size = size;
	return r == 0;
}

int jitdump_waiting_add(struct jitdump_waiting *waiting, const struct jitdump_header *header,
	const struct jitdump_record *record)
{
	const size_t room = record->debug.entries_size < JITDUMP_WAITING_BYTES_MAX
				    ? record->debug.entries_size
				    : JITDUMP_WAITING_BYTES_MAX;
	struct jitdump_waiting_slot slot = { .address = record->debug.address };
	unsigned older;
	int r;

	r = make_room(waiting, room);
	if (r < 0)
		return r;
	older = jitdump_waiting_find(waiting, slot.address);
	if (older != JITDUMP_WAITING_NONE) {
		waiting->unclaimed++;
		jitdump_waiting_claim(waiting, older);
	}
	slot.start = waiting->size;
	if (room > 0)
		slot.is_damaged = !copy_entries(header, record, waiting->bytes + slot.start, room,
			&slot.size, &slot.entry_count);
	waiting->size += slot.size;
	waiting->slots[waiting->count++] = slot;
	return 0;
}

void jitdump_waiting_get(const struct jitdump_waiting *waiting, unsigned slot,
	struct jitdump_record *ret_record, bool *ret_is_damaged)
{
	const struct jitdump_waiting_slot *found = &waiting->slots[slot];

	*ret_record = (struct jitdump_record){
		.id = PILOTLIGHT_JITDUMP_DEBUG_INFO,
		.debug = {
			.address = found->address,
			.entry_count = found->entry_count,
			.entries = waiting->bytes ? waiting->bytes + found->start : NULL,
			.entries_size = found->size,
		},
	};
	*ret_is_damaged = found->is_damaged;
}

void jitdump_waiting_claim(struct jitdump_waiting *waiting, unsigned slot)
{
	waiting->slots[slot].is_claimed = true;
	while (waiting->count > 0 && waiting->slots[waiting->count - 1].is_claimed)
		waiting->size = waiting->slots[--waiting->count].start;
}

void jitdump_waiting_clear(struct jitdump_waiting *waiting)
{
	for (unsigned i = 0; i < waiting->count; i++)
		waiting->unclaimed += !waiting->slots[i].is_claimed;
	waiting->count = 0;
	waiting->size = 0;
}

void jitdump_waiting_trim(struct jitdump_waiting *waiting)
{
	if (waiting->count > 0)
		return;
	free(waiting->bytes);
	waiting->bytes = NULL;
	waiting->size = waiting->capacity = 0;
}

/* --- packing --- */

void jitdump_lines_done(struct jitdump_lines *lines)
{
	free(lines->entries);
	free(lines->packed);
	*lines = (struct jitdump_lines){ 0 };
}

/* The constant by which the writer has raised all addresses. */
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

/* V8 writes freed memory in place of a name, and that is hardly ever text. */
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

/* An entry before the code is for its first byte. False: the entry is impossible. */
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
 * A damaged name leads the walk over the entries astray. It shows when an address is impossible:
 * then the name of the entry before was not read to its end. Lines are known up to the first
 * doubtful entry, and unknown after it.
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
