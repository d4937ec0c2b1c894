/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unwind/extent_set.h"

#include "base/array.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void extent_set_done(struct extent_set *set)
{
	free(set->extents);
	*set = (struct extent_set){ 0 };
}

int extent_set_reserve(struct extent_set *set, size_t extents, size_t limit)
{
	return ARRAY_RESERVE(set->extents, &set->capacity, extents, limit);
}

static uint64_t end_of(const struct extent *extent)
{
	return (uint64_t)extent->start + extent->count;
}

/* The position of the first extent that begins at or behind `start`. */
static size_t position_of(const struct extent_set *set, uint32_t start)
{
	size_t low = 0, high = set->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (set->extents[middle].start < start)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void remove_at(struct extent_set *set, size_t i)
{
	memmove(&set->extents[i], &set->extents[i + 1],
		(set->count - i - 1) * sizeof(*set->extents));
	set->count--;
}

void extent_set_add(struct extent_set *set, uint32_t start, uint32_t count)
{
	struct extent added = { .start = start, .count = count };
	struct extent *before, *after;
	size_t i;

	if (count == 0)
		return;
	i = position_of(set, start);
	before = i > 0 ? &set->extents[i - 1] : NULL;
	after = i < set->count ? &set->extents[i] : NULL;
	assert(!before || end_of(before) <= start);
	assert(!after || end_of(&added) <= after->start);
	set->entries += count;
	if (before && end_of(before) == start) {
		before->count += count;
		if (after && end_of(before) == after->start) {
			before->count += after->count;
			remove_at(set, i);
		}
	} else if (after && end_of(&added) == after->start) {
		after->start = start;
		after->count += count;
	} else {
		assert(set->count < set->capacity);
		memmove(&set->extents[i + 1], &set->extents[i],
			(set->count - i) * sizeof(*set->extents));
		set->extents[i] = added;
		set->count++;
	}
}

bool extent_set_find(const struct extent_set *set, uint32_t count, uint32_t *ret_start)
{
	for (size_t i = 0; i < set->count; i++)
		if (set->extents[i].count >= count) {
			*ret_start = set->extents[i].start;
			return true;
		}
	return false;
}

void extent_set_remove(struct extent_set *set, uint32_t start, uint32_t count)
{
	size_t i = position_of(set, start);
	struct extent *extent = &set->extents[i];

	assert(i < set->count && extent->start == start && extent->count >= count);
	extent->start += count;
	extent->count -= count;
	set->entries -= count;
	if (extent->count == 0)
		remove_at(set, i);
}

bool extent_set_union_has(const struct extent_set *a, const struct extent_set *b, uint32_t count)
{
	size_t i = 0, j = 0;
	struct extent run = { 0 };

	while (i < a->count || j < b->count) {
		bool is_a = j == b->count ||
			    (i < a->count && a->extents[i].start < b->extents[j].start);
		const struct extent *next = is_a ? &a->extents[i++] : &b->extents[j++];

		if (run.count > 0 && end_of(&run) == next->start)
			run.count += next->count;
		else
			run = *next;
		if (run.count >= count)
			return true;
	}
	return count == 0;
}

void extent_set_move(struct extent_set *to, struct extent_set *from)
{
	for (size_t i = 0; i < from->count; i++)
		extent_set_add(to, from->extents[i].start, from->extents[i].count);
	from->count = 0;
	from->entries = 0;
}
