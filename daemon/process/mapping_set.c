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
	for (uint32_t i = 0; i < set->count; i++)
		file_table_drop(budget->files, set->mappings[i].file);
	budget->used -= set->capacity;
	user_share_remove(&budget->share, set->user, set->capacity);
	free(set);
}

void mapping_set_charge(
	struct mapping_set *set, uint64_t from, uint64_t user, struct mapping_budget *budget)
{
	if (!set)
		return;
	user_share_remove(&budget->share, set->user, set->capacity);
	user_share_add(&budget->share, user, set->capacity);
	set->user = user;
	for (uint32_t i = 0; i < set->count && from != user; i++)
		file_table_charge(budget->files, set->mappings[i].file, from, user);
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

/* Makes `*set` unshared, with room for `count` mappings and for its current ones. */
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
		for (uint32_t i = 0; i < old->count; i++)
			file_table_take(budget->files, old->mappings[i].file);
		old->references--;
	} else if (!old) {
		grown->count = 0;
		grown->path_bytes = 0;
	}
	if (is_shared || !old)
		grown->user = budget->files->user;
	user_share_remove(&budget->share, grown->user, freed);
	user_share_add(&budget->share, grown->user, capacity);
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

/* Finds the mappings that [start, end) overlaps, and the remainders on both sides. */
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

/*
 * Merges `mapping` with adjacent mappings of the same file. If the result starts with an existing
 * mapping, it keeps that one's offset, so that an unchanged set is recognised.
 */
static void merge(const struct mapping_set *set, struct change *change,
	struct process_mapping *left, struct process_mapping *mapping,
	struct process_mapping *right)
{
	const struct process_mapping *next, *first;

	first = change->first < change->after ? &set->mappings[change->first] : NULL;
	if (first && first->file == mapping->file && first->start == mapping->start)
		mapping->offset = first->offset;
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

static size_t path_bytes_then(
	const struct mapping_set *set, const struct change *change, const struct file_table *files)
{
	size_t bytes = set ? set->path_bytes : 0;

	for (uint32_t i = 0; i < change->piece_count; i++)
		bytes += file_table_path_bytes(files, change->pieces[i].file);
	for (uint32_t i = change->first; i < change->after; i++)
		bytes -= file_table_path_bytes(files, set->mappings[i].file);
	return bytes;
}

static void replace(struct mapping_set *set, const struct change *change, struct file_table *files)
{
	struct process_mapping *mappings = set->mappings;

	for (uint32_t i = 0; i < change->piece_count; i++)
		file_table_take(files, change->pieces[i].file);
	for (uint32_t i = change->first; i < change->after; i++)
		file_table_drop(files, mappings[i].file);
	memmove(mappings + change->first + change->piece_count, mappings + change->after,
		(set->count - change->after) * sizeof(*mappings));
	memcpy(mappings + change->first, change->pieces, change->piece_count * sizeof(*mappings));
	set->count -= change->after - change->first;
	set->count += change->piece_count;
}

static int apply(struct mapping_set **set, const struct change *change,
	struct mapping_budget *budget, bool *is_changed)
{
	uint32_t count = *set ? (*set)->count : 0;
	size_t count_then = (size_t)count - (change->after - change->first) + change->piece_count;
	size_t bytes = *set ? (*set)->path_bytes : 0;
	size_t bytes_then = path_bytes_then(*set, change, budget->files);
	int r;

	if (changes_nothing(*set, change))
		return 0;
	if ((count_then > budget->count_per_set && count_then > count) ||
		(bytes_then > budget->path_bytes_per_set && bytes_then > bytes))
		return -E2BIG;
	if (count_then == 0) {
		mapping_set_release(*set, budget);
		*set = NULL;
	} else {
		r = make_room(set, count_then, budget);
		if (r < 0)
			return r;
		replace(*set, change, budget->files);
		(*set)->path_bytes = bytes_then;
	}
	*is_changed = true;
	return 0;
}

int mapping_set_put(struct mapping_set **set, const struct process_mapping *mapping,
	struct mapping_budget *budget, bool *is_changed)
{
	struct process_mapping left, right, whole = *mapping;
	struct change change = { 0 };

	assert(mapping->start < mapping->end);
	cover(*set, mapping->start, mapping->end, &change, &left, &right);
	if (file_table_is_anonymous(budget->files, mapping->file))
		merge(*set, &change, &left, &whole, &right);
	if (left.end)
		add_piece(&change, &left);
	add_piece(&change, &whole);
	if (right.end)
		add_piece(&change, &right);
	return apply(set, &change, budget, is_changed);
}

void mapping_set_cut(struct mapping_set **set, uint64_t start, uint64_t end,
	struct mapping_budget *budget, bool *is_changed)
{
	struct process_mapping left, right;
	struct change change = { 0 };
	int r;

	cover(*set, start, end, &change, &left, &right);
	if (left.end)
		add_piece(&change, &left);
	if (right.end)
		add_piece(&change, &right);
	r = apply(set, &change, budget, is_changed);
	if ((r == -E2BIG || r == -ENOSPC) && change.piece_count == 2) {
		change.piece_count = 1;
		r = apply(set, &change, budget, is_changed);
	}
	if (r < 0) {
		mapping_set_release(*set, budget);
		*set = NULL;
		*is_changed = true;
	}
}
