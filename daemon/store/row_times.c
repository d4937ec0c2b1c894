/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/row_times.h"

#include "base/array.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

enum { JOINED_MIN = 256 }; /* fewer are not worth sorting before the end */

static int compare_times(const void *a, const void *b)
{
	const struct row_time *first = a, *second = b;

	return (first->slice > second->slice) - (first->slice < second->slice);
}

void row_times_join(struct row_times *times)
{
	struct row_time *items = times->items;
	size_t last = 0;

	if (times->count < 2)
		return;
	qsort(items, times->count, sizeof(*items), compare_times);
	for (size_t i = 1; i < times->count; i++) {
		if (items[i].slice == items[last].slice)
			items[last].count += items[i].count;
		else
			items[++last] = items[i];
	}
	times->count = last + 1;
}

/* Joins before it grows. A quarter must become free, or each of the next additions would sort. */
static int make_room(struct row_times *times)
{
	if (times->count < times->capacity)
		return 0;
	if (times->capacity >= JOINED_MIN) {
		row_times_join(times);
		if (times->count <= times->capacity / 4 * 3)
			return 0;
	}
	return ARRAY_RESERVE(times->items, &times->capacity, times->capacity + 1, ROW_TIMES_MAX);
}

int row_times_add(struct row_times *times, uint32_t slice, uint64_t count)
{
	int r;

	assert(slice < TIMES_SLICE_MAX);
	if (times->count > 0 && times->items[times->count - 1].slice == slice) {
		times->items[times->count - 1].count += count;
		return 0;
	}
	r = make_room(times);
	if (r == 0)
		times->items[times->count++] = (struct row_time){ .count = count, .slice = slice };
	return r;
}

int row_times_add_shifted(
	struct row_times *times, uint32_t slice, uint64_t count, const struct slice_shift *shift)
{
	if (shift->later >= TIMES_SLICE_MAX - slice)
		return -E2BIG;
	return row_times_add(times, (uint32_t)((slice + shift->later) / shift->per), count);
}
