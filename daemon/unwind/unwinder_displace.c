/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tables in use divide an array into gaps; all else in it is free, or can be by the next window.
 * Some of the tables may leave. For each array this searches the gap that is long enough once the
 * fewest of them have left.
 */
#include "unwind/unwinder_state.h"

#include "base/cleanup.h"
#include "capture/walk_maps.h"

#include <errno.h>
#include <stdlib.h>

/* The place of a table in use. */
struct span {
	uint32_t start, end;
	uint32_t number; /* of the table */
	bool may_leave;
};

static uint32_t start_in(const struct shared_table *table, enum table_array array)
{
	const uint32_t starts[TABLE_ARRAYS] = {
		[TABLE_PAGES] = table->place.pages_at,
		[TABLE_LINES] = table->place.lines_at,
		[TABLE_RULES] = table->place.rules_at,
		[TABLE_ESCAPES] = table->place.escapes_at,
	};

	return starts[array];
}

static uint32_t capacity_of(const struct unwinder *unwinder, enum table_array array)
{
	const struct walk_map_sizes *sizes = &unwinder->maps->sizes;
	const uint32_t capacities[TABLE_ARRAYS] = {
		[TABLE_PAGES] = sizes->pages,
		[TABLE_LINES] = sizes->lines,
		[TABLE_RULES] = sizes->rules,
		[TABLE_ESCAPES] = sizes->escapes,
	};

	return capacities[array];
}

static int compare_start(const void *a, const void *b)
{
	const struct span *first = a, *second = b;

	return (first->start > second->start) - (first->start < second->start);
}

static size_t collect_spans(struct unwinder *unwinder, enum table_array array,
	const struct unwinder_leaving *leaving, struct span *spans)
{
	size_t tables = shared_tables_positions(unwinder->tables), count = 0;

	for (uint32_t number = 0; number < tables; number++) {
		const struct shared_table *table = shared_tables_get(unwinder->tables, number);

		if (table->users == 0 || !table->is_in_use || table->extent.entries[array] == 0)
			continue;
		spans[count++] = (struct span){
			.start = start_in(table, array),
			.end = start_in(table, array) + table->extent.entries[array],
			.number = number,
			.may_leave = leaving->may_leave(leaving->context, table),
		};
	}
	qsort(spans, count, sizeof(*spans), compare_start);
	return count;
}

struct gap {
	size_t first, count; /* the spans that leave for it */
};

/* Finds a gap of `needed` entries for which at most `leaving_max` spans leave. */
static bool find_gap(const struct span *spans, size_t count, uint32_t capacity, uint32_t needed,
	size_t leaving_max, struct gap *ret_gap)
{
	bool is_found = false;

	for (size_t first = 0; first <= count; first++) {
		uint32_t start = first > 0 ? spans[first - 1].end : 0;

		for (size_t end = first; end - first <= leaving_max; end++) {
			if ((end < count ? spans[end].start : capacity) - start >= needed) {
				*ret_gap = (struct gap){ .first = first, .count = end - first };
				is_found = true;
				/* The next one must be better. */
				if (end == first)
					return true;
				leaving_max = end - first - 1;
				break;
			}
			if (end == count || !spans[end].may_leave)
				break;
		}
	}
	return is_found;
}

/* Tables that were chosen count as not in use. */
static int choose_for_array(struct unwinder *unwinder, enum table_array array, uint32_t needed,
	const struct unwinder_leaving *leaving, struct span *spans, struct unwinder_chosen *chosen)
{
	size_t count = collect_spans(unwinder, array, leaving, spans);
	struct gap gap;

	if (!find_gap(spans, count, capacity_of(unwinder, array), needed,
		    leaving->count_max - chosen->count, &gap))
		return -ENOSPC;
	for (size_t i = 0; i < gap.count; i++) {
		uint32_t number = spans[gap.first + i].number;

		shared_tables_get(unwinder->tables, number)->is_in_use = false;
		chosen->numbers[chosen->count++] = number;
	}
	return 0;
}

void unwinder_choose_leaving(struct unwinder *unwinder, const struct table_extent *extent,
	const struct unwinder_leaving *leaving, struct unwinder_chosen *ret_chosen)
{
	size_t tables = shared_tables_positions(unwinder->tables);
	_cleanup_free_ struct span *spans = calloc(tables + 1, sizeof(*spans));
	struct unwinder_chosen chosen = { .count = 0 };
	int r = spans ? 0 : -ENOMEM;

	for (int i = 0; r == 0 && i < TABLE_ARRAYS; i++)
		if (extent->entries[i] > 0)
			r = choose_for_array(
				unwinder, i, extent->entries[i], leaving, spans, &chosen);
	for (size_t i = 0; i < chosen.count; i++)
		shared_tables_get(unwinder->tables, chosen.numbers[i])->is_in_use = true;
	if (r < 0)
		chosen.count = 0;
	*ret_chosen = chosen;
}
