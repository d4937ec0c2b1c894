/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "render/function_difference.h"

#include <errno.h>
#include <string.h>

/* Sorts the greater change first, in either direction. */
static int compare_changes(int64_t a, int64_t b)
{
	if (llabs(a) != llabs(b))
		return llabs(a) > llabs(b) ? -1 : 1;
	return (b > a) - (b < a);
}

static int compare_identity(const struct function_change *a, const struct function_change *b)
{
	int order = frame_label_compare(a->label, b->label);

	return order ? order : strcmp(frame_base_name(a->path), frame_base_name(b->path));
}

/* Sorts equal functions next to each other, those of the compared profile first. */
static int compare_names(const void *a, const void *b)
{
	const struct function_change *first = a, *second = b;
	int order = compare_identity(first, second);

	if (order)
		return order;
	if ((first->total[DIFFERENCE_COMPARED] > 0) != (second->total[DIFFERENCE_COMPARED] > 0))
		return first->total[DIFFERENCE_COMPARED] > 0 ? -1 : 1;
	return strcmp(first->path, second->path);
}

static int compare_by_change(const void *a, const void *b)
{
	const struct function_change *first = a, *second = b;
	int order;

	if (first->is_certain != second->is_certain)
		return first->is_certain ? -1 : 1;
	if (first->surprise != second->surprise)
		return first->surprise > second->surprise ? -1 : 1;
	order = compare_changes(first->self_change, second->self_change);
	if (order == 0)
		order = compare_changes(first->total_change, second->total_change);
	return order ? order : compare_identity(first, second);
}

static void add_side(struct function_difference *functions, const struct profile *profile,
	enum difference_side side)
{
	const struct function_totals *totals = functions->sides[side];

	for (size_t i = 0; i < totals->count; i++) {
		const struct function_total *item = &totals->items[i];
		const struct profile_binary *binary = &profile->binaries.items[item->binary];
		struct function_change *change = &functions->items[functions->count++];

		*change = (struct function_change){
			.label = &totals->labels->items[item->label],
			.path = string_pool_get(&profile->strings, binary->path),
		};
		change->self[side] = item->self;
		change->total[side] = item->total;
	}
}

static void merge_equal(struct function_difference *functions)
{
	size_t kept = 0;

	for (size_t i = 0; i < functions->count; i++) {
		const struct function_change *item = &functions->items[i];
		struct function_change *last = &functions->items[kept];

		if (kept == 0 || compare_identity(last - 1, item) != 0) {
			*last = *item;
			kept++;
			continue;
		}
		last--;
		for (enum difference_side side = 0; side < DIFFERENCE_SIDE_COUNT; side++) {
			last->self[side] += item->self[side];
			last->total[side] += item->total[side];
		}
	}
	functions->count = kept;
}

static int add_up(struct function_difference *functions,
	const struct profile_difference *difference, enum frame_detail detail)
{
	size_t count = 0;
	int r;

	for (enum difference_side i = 0; i < DIFFERENCE_SIDE_COUNT; i++) {
		const struct profile *profile = difference->sides[i];

		r = function_totals_new(profile, detail, &functions->sides[i]);
		if (r < 0)
			return r;
		count += functions->sides[i]->count;
	}
	functions->items = calloc(count + 1, sizeof(*functions->items));
	if (!functions->items)
		return -ENOMEM;
	for (enum difference_side i = 0; i < DIFFERENCE_SIDE_COUNT; i++)
		add_side(functions, difference->sides[i], i);
	return 0;
}

int function_difference_new(const struct profile_difference *difference, enum frame_detail detail,
	struct function_difference **ret_functions)
{
	_cleanup_(function_difference_freep) struct function_difference *functions =
		calloc(1, sizeof(*functions));
	int r;

	if (!functions)
		return -ENOMEM;
	r = add_up(functions, difference, detail);
	if (r < 0)
		return r;
	qsort(functions->items, functions->count, sizeof(*functions->items), compare_names);
	merge_equal(functions);
	for (size_t i = 0; i < functions->count; i++) {
		struct function_change *item = &functions->items[i];

		item->self_change = profile_difference_change(difference, item->self);
		item->total_change = profile_difference_change(difference, item->total);
		item->is_self_certain = profile_difference_is_certain(difference, item->self);
		item->is_certain = item->is_self_certain ||
				   profile_difference_is_certain(difference, item->total);
		if (difference->is_of_incident)
			item->surprise = profile_difference_surprise(difference, item->self);
	}
	qsort(functions->items, functions->count, sizeof(*functions->items), compare_by_change);
	*ret_functions = TAKE_PTR(functions);
	return 0;
}

void function_difference_free(struct function_difference *functions)
{
	if (!functions)
		return;
	for (enum difference_side i = 0; i < DIFFERENCE_SIDE_COUNT; i++)
		function_totals_free(functions->sides[i]);
	free(functions->items);
	free(functions);
}
