/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "render/frame_places.h"

#include "base/array.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static bool place_equal(const void *owner, uint32_t id, const void *key)
{
	const struct frame_place *item = &((const struct frame_places *)owner)->items[id];
	const struct frame_place *wanted = key;

	return item->file == wanted->file && item->line == wanted->line;
}

static int intern(struct frame_places *places, struct hash_index *index,
	const struct frame_place *place, uint32_t *ret_place)
{
	uint64_t hash = hash_pair(place->file, place->line);
	uint32_t id = hash_index_find(index, hash, place_equal, places, place);
	int r;

	if (id == HASH_INDEX_NONE) {
		r = ARRAY_RESERVE(
			places->items, &places->capacity, places->count + 1, FRAME_NONE - 1);
		if (r < 0)
			return r;
		r = hash_index_reserve(index);
		if (r < 0)
			return r;
		id = (uint32_t)places->count++;
		places->items[id] = *place;
		hash_index_insert(index, hash, id);
	}
	*ret_place = id;
	return 0;
}

static int add_places(struct frame_places *places, const struct profile *profile,
	const struct frame_labels *labels)
{
	_cleanup_(hash_index_done) struct hash_index index = { 0 };
	int r;

	for (size_t i = 0; i < profile->locations.count; i++) {
		const struct profile_location *location = &profile->locations.items[i];
		uint32_t *innermost =
			places->chain + labels->chains[i].first + labels->chains[i].count - 1;

		*innermost = FRAME_NONE;
		for (uint32_t inner = 0; inner < location->frame_count; inner++) {
			const struct profile_frame *frame =
				&profile->frames.items[location->first_frame + inner];
			struct frame_place place = { .file = frame->file, .line = frame->line };

			*(innermost - inner) = FRAME_NONE;
			if (place.file == 0)
				continue;
			r = intern(places, &index, &place, innermost - inner);
			if (r < 0)
				return r;
		}
	}
	return 0;
}

struct ordering {
	const struct profile *profile;
	const struct frame_place *items;
};

static int compare_places(const void *a, const void *b, void *context)
{
	const struct ordering *ordering = context;
	const struct frame_place *first = &ordering->items[*(const uint32_t *)a];
	const struct frame_place *second = &ordering->items[*(const uint32_t *)b];
	int order = 0;

	if (first->file != second->file)
		order = strcmp(string_pool_get(&ordering->profile->strings, first->file),
			string_pool_get(&ordering->profile->strings, second->file));
	if (order)
		return order;
	return (first->line > second->line) - (first->line < second->line);
}

/* Renumbers the places by their order. */
static int sort_places(
	struct frame_places *places, const struct profile *profile, size_t chain_count)
{
	_cleanup_free_ uint32_t *order = calloc(places->count + 1, sizeof(*order));
	_cleanup_free_ uint32_t *rank = calloc(places->count + 1, sizeof(*rank));
	_cleanup_free_ struct frame_place *sorted = calloc(places->count + 1, sizeof(*sorted));
	struct ordering ordering = { .profile = profile, .items = places->items };

	if (!order || !rank || !sorted)
		return -ENOMEM;
	for (uint32_t i = 0; i < places->count; i++)
		order[i] = i;
	qsort_r(order, places->count, sizeof(*order), compare_places, &ordering);
	for (uint32_t i = 0; i < places->count; i++) {
		sorted[i] = places->items[order[i]];
		rank[order[i]] = i;
	}
	free(places->items);
	places->items = TAKE_PTR(sorted);
	places->capacity = places->count + 1;
	for (size_t i = 0; i < chain_count; i++)
		if (places->chain[i] != FRAME_NONE)
			places->chain[i] = rank[places->chain[i]];
	return 0;
}

static bool has_places(const struct profile *profile)
{
	for (size_t i = 0; i < profile->frames.count; i++)
		if (profile->frames.items[i].file > 0)
			return true;
	return false;
}

int frame_places_new(const struct profile *profile, const struct frame_labels *labels,
	struct frame_places **ret_places)
{
	_cleanup_(frame_places_freep) struct frame_places *places = calloc(1, sizeof(*places));
	int r;

	if (!places)
		return -ENOMEM;
	if (has_places(profile)) {
		places->chain = calloc(labels->chain_count + 1, sizeof(*places->chain));
		if (!places->chain)
			return -ENOMEM;
		r = add_places(places, profile, labels);
		if (r < 0)
			return r;
		r = sort_places(places, profile, labels->chain_count);
		if (r < 0)
			return r;
	}
	*ret_places = TAKE_PTR(places);
	return 0;
}

void frame_places_free(struct frame_places *places)
{
	if (!places)
		return;
	free(places->items);
	free(places->chain);
	free(places);
}

const char *frame_place_format(const struct profile *profile, const struct frame_place *place,
	char text[FRAME_PLACE_BYTES])
{
	const char *file = frame_base_name(string_pool_get(&profile->strings, place->file));

	if (place->line > 0)
		(void)snprintf(text, FRAME_PLACE_BYTES, "%s:%" PRIu32, file, place->line);
	else
		(void)snprintf(text, FRAME_PLACE_BYTES, "%s", file);
	return text;
}
