/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "jit/jitdump_waiting.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

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

/* The newest that fit into half of the room, so that each byte is moved about once on average. */
static void keep_newest(struct jitdump_waiting *waiting, size_t room)
{
	size_t limit = JITDUMP_WAITING_BYTES_MAX - room, size = 0;
	unsigned first = waiting->count, kept = 0;

	if (limit > JITDUMP_WAITING_BYTES_MAX / 2)
		limit = JITDUMP_WAITING_BYTES_MAX / 2;
	for (unsigned live = 0; first > 0; first--) {
		const struct jitdump_waiting_slot *slot = &waiting->slots[first - 1];

		if (slot->is_claimed)
			continue;
		if (live == JITDUMP_WAITING_COUNT_MAX / 2 || slot->size > limit - size)
			break;
		size += slot->size;
		live++;
	}
	waiting->size = 0;
	for (unsigned i = 0; i < waiting->count; i++) {
		struct jitdump_waiting_slot slot = waiting->slots[i];

		if (slot.is_claimed)
			continue;
		if (i < first) {
			waiting->unclaimed++;
			continue;
		}
		if (slot.size > 0)
			memmove(waiting->bytes + waiting->size, waiting->bytes + slot.start,
				slot.size);
		slot.start = waiting->size;
		waiting->size += slot.size;
		waiting->slots[kept++] = slot;
	}
	waiting->count = kept;
}

static int make_room(struct jitdump_waiting *waiting, size_t room)
{
	if (waiting->count == JITDUMP_WAITING_COUNT_MAX ||
		room > JITDUMP_WAITING_BYTES_MAX - waiting->size)
		keep_newest(waiting, room);
	return ARRAY_RESERVE(waiting->bytes, &waiting->capacity, waiting->size + room,
		(size_t)JITDUMP_WAITING_BYTES_MAX);
}

/* Copies whole entries as far as there is room. Returns whether that was all of them. */
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
