/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/symbol_cache_selection.h"

#include "base/array.h"
#include "symbol/symbol_cache_name.h"

#include <stdlib.h>

void symbol_cache_selection_init(struct symbol_cache_selection *selection, symbol_cache_order order)
{
	*selection = (struct symbol_cache_selection){ .order = order };
}

void symbol_cache_selection_done(struct symbol_cache_selection *selection)
{
	free(selection->items);
	selection->items = NULL;
	selection->count = 0;
	selection->capacity = 0;
}

void symbol_cache_selection_clear(struct symbol_cache_selection *selection)
{
	selection->count = 0;
	selection->has_more = false;
}

static void swap(struct symbol_cache_found *a, struct symbol_cache_found *b)
{
	struct symbol_cache_found kept = *a;

	*a = *b;
	*b = kept;
}

static void sift_up(struct symbol_cache_selection *selection, size_t i)
{
	struct symbol_cache_found *items = selection->items;

	while (i > 0 && selection->order(&items[i], &items[(i - 1) / 2]) > 0) {
		swap(&items[i], &items[(i - 1) / 2]);
		i = (i - 1) / 2;
	}
}

/* The item at 0, among the first `count`. */
static void sift_down(struct symbol_cache_selection *selection, size_t count)
{
	struct symbol_cache_found *items = selection->items;
	size_t i = 0, last;

	for (;;) {
		last = 2 * i + 1;
		if (last + 1 < count && selection->order(&items[last + 1], &items[last]) > 0)
			last++;
		if (last >= count || selection->order(&items[last], &items[i]) <= 0)
			return;
		swap(&items[last], &items[i]);
		i = last;
	}
}

int symbol_cache_selection_add(
	struct symbol_cache_selection *selection, const struct symbol_cache_found *found)
{
	int r;

	if (selection->count == SYMBOL_CACHE_SELECTION_MAX) {
		selection->has_more = true;
		if (selection->order(found, &selection->items[0]) < 0) {
			selection->items[0] = *found;
			sift_down(selection, selection->count);
		}
		return 0;
	}
	r = ARRAY_RESERVE(selection->items, &selection->capacity, selection->count + 1,
		SYMBOL_CACHE_SELECTION_MAX);
	if (r < 0)
		return r;
	selection->items[selection->count] = *found;
	sift_up(selection, selection->count++);
	return 0;
}

void symbol_cache_selection_sort(struct symbol_cache_selection *selection)
{
	for (size_t count = selection->count; count > 1; count--) {
		swap(&selection->items[0], &selection->items[count - 1]);
		sift_down(selection, count - 1);
	}
}

int symbol_cache_by_name(const struct symbol_cache_found *a, const struct symbol_cache_found *b)
{
	return symbol_cache_name_compare(&a->identity, &b->identity);
}

int symbol_cache_by_use(const struct symbol_cache_found *a, const struct symbol_cache_found *b)
{
	if (a->modified.tv_sec != b->modified.tv_sec)
		return a->modified.tv_sec < b->modified.tv_sec ? -1 : 1;
	if (a->modified.tv_nsec != b->modified.tv_nsec)
		return a->modified.tv_nsec < b->modified.tv_nsec ? -1 : 1;
	return symbol_cache_name_compare(&a->identity, &b->identity);
}
