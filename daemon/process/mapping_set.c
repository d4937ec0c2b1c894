/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/mapping_set.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { CAPACITY_MIN = 8 };

/* mappings[first, after) become `pieces`. */
struct change {
	uint32_t first, after;
	struct process_mapping pieces[3];
	uint32_t piece_count;
};

static size_t set_bytes(size_t capacity)
{
	return sizeof(struct mapping_set) + capacity * sizeof(struct process_mapping);
}

struct mapping_set *mapping_set_share(struct mapping_set *set)
{
	if (set)
		set->references++;
	return set;
}

void mapping_set_release(struct mapping_set *set, struct mapping_budget *budget)
{
	if (!set || --set->references > 0)
		return;
	budget->used -= set->capacity;
	free(set);
}

/* The index of the first mapping that ends after `address`. */
static uint32_t first_ending_after(const struct mapping_set *set, uint64_t address)
{
	uint32_t low = 0, high = set ? set->count : 0;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (set->mappings[middle].end > address)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

const struct process_mapping *mapping_set_find(const struct mapping_set *set, uint64_t address)
{
	uint32_t i = first_ending_after(set, address);

	return set && i < set->count && set->mappings[i].start <= address ? &set->mappings[i]
									  : NULL;
}

/* Makes `*set` the caller's own, with room for `count` mappings and for those that it has. */
static int make_room(struct mapping_set **set, size_t count, struct mapping_budget *budget)
{
	struct mapping_set *old = *set, *grown;
	bool is_shared = old && old->references > 1;
	size_t capacity = old ? old->capacity : CAPACITY_MIN;
	size_t freed = old && !is_shared ? old->capacity : 0;
	size_t least = old && old->count > count ? old->count : count;

	if (old && !is_shared && count <= old->capacity)
		return 0;
	while (capacity < least)
		capacity *= 2;
	if (budget->used - freed + capacity > budget->limit)
		capacity = least;
	if (budget->used - freed + capacity > budget->limit || capacity > UINT32_MAX)
		return -ENOSPC;

	grown = realloc(is_shared ? NULL : old, set_bytes(capacity));
	if (!grown)
		return -ENOMEM;
	if (is_shared) {
		memcpy(grown, old, set_bytes(old->count));
		old->references--;
	} else if (!old) {
		grown->count = 0;
	}
	grown->references = 1;
	grown->capacity = (uint32_t)capacity;
	budget->used += capacity - freed;
	*set = grown;
	return 0;
}

static void add_piece(struct change *change, const struct process_mapping *piece)
{
	change->pieces[change->piece_count++] = *piece;
}

/* What [start, end) covers, and what sticks out of it on either side. */
static void cover(const struct mapping_set *set, uint64_t start, uint64_t end,
	struct change *change, struct process_mapping *left, struct process_mapping *right)
{
	uint32_t count = set ? set->count : 0;

	*left = *right = (struct process_mapping){ 0 };
	change->first = change->after = first_ending_after(set, start);
	while (change->after < count && set->mappings[change->after].start < end)
		change->after++;
	if (change->first == change->after)
		return;
	if (set->mappings[change->first].start < start) {
		*left = set->mappings[change->first];
		left->end = start;
	}
	if (set->mappings[change->after - 1].end > end) {
		*right = set->mappings[change->after - 1];
		right->offset += end - right->start;
		right->start = end;
	}
}

/* Lets `mapping` take in what touches it of the same file. */
static void merge(const struct mapping_set *set, struct change *change,
	struct process_mapping *left, struct process_mapping *mapping,
	struct process_mapping *right)
{
	const struct process_mapping *next;

	if (!left->end && set && change->first > 0 &&
		set->mappings[change->first - 1].end == mapping->start)
		*left = set->mappings[--change->first];
	if (left->end && left->file == mapping->file) {
		mapping->offset = left->offset;
		mapping->start = left->start;
		left->end = 0;
	}
	next = set && change->after < set->count ? &set->mappings[change->after] : NULL;
	if (!right->end && next && next->start == mapping->end) {
		*right = *next;
		change->after++;
	}
	if (right->end && right->file == mapping->file) {
		mapping->end = right->end;
		right->end = 0;
	}
}

static bool changes_nothing(const struct mapping_set *set, const struct change *change)
{
	const struct process_mapping *old;

	if (change->after - change->first != change->piece_count)
		return false;
	for (uint32_t i = 0; i < change->piece_count; i++) {
		old = &set->mappings[change->first + i];
		if (old->start != change->pieces[i].start || old->end != change->pieces[i].end ||
			old->offset != change->pieces[i].offset ||
			old->file != change->pieces[i].file)
			return false;
	}
	return true;
}

static int apply(struct mapping_set **set, const struct change *change, size_t limit,
	struct mapping_budget *budget)
{
	uint32_t count = *set ? (*set)->count : 0;
	size_t count_then = (size_t)count - (change->after - change->first) + change->piece_count;
	struct process_mapping *mappings;
	int r;

	if (changes_nothing(*set, change))
		return 0;
	if (count_then > limit && count_then > count)
		return -E2BIG;
	if (count_then == 0) {
		mapping_set_release(*set, budget);
		*set = NULL;
		return 0;
	}
	r = make_room(set, count_then, budget);
	if (r < 0)
		return r;
	mappings = (*set)->mappings;
	memmove(mappings + change->first + change->piece_count, mappings + change->after,
		(count - change->after) * sizeof(*mappings));
	memcpy(mappings + change->first, change->pieces, change->piece_count * sizeof(*mappings));
	(*set)->count = (uint32_t)count_then;
	return 0;
}

int mapping_set_put(struct mapping_set **set, const struct process_mapping *mapping, bool merges,
	size_t limit, struct mapping_budget *budget)
{
	struct process_mapping left, right, whole = *mapping;
	struct change change = { 0 };

	assert(mapping->start < mapping->end);
	cover(*set, mapping->start, mapping->end, &change, &left, &right);
	if (merges)
		merge(*set, &change, &left, &whole, &right);
	if (left.end)
		add_piece(&change, &left);
	add_piece(&change, &whole);
	if (right.end)
		add_piece(&change, &right);
	return apply(set, &change, limit, budget);
}

void mapping_set_cut(struct mapping_set **set, uint64_t start, uint64_t end, size_t limit,
	struct mapping_budget *budget)
{
	struct process_mapping left, right;
	struct change change = { 0 };
	int r;

	cover(*set, start, end, &change, &left, &right);
	if (left.end)
		add_piece(&change, &left);
	if (right.end)
		add_piece(&change, &right);
	r = apply(set, &change, limit, budget);
	if ((r == -E2BIG || r == -ENOSPC) && change.piece_count == 2) {
		change.piece_count = 1;
		r = apply(set, &change, limit, budget);
	}
	if (r < 0) {
		mapping_set_release(*set, budget);
		*set = NULL;
	}
}
