/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/symbol_layer.h"

#include "pilotlight/symbol_file.h"

#include <stddef.h>

struct layer_symbol {
	uint32_t start, end;
	uint32_t name;
	uint32_t is_guess;
};

int symbol_layer_init(struct symbol_layer *layer, struct scratch *scratch)
{
	int r;

	*layer = (struct symbol_layer){ 0 };
	r = scratch_array_init(&layer->symbols, scratch, sizeof(struct layer_symbol), UINT32_MAX);
	return r < 0 ? r
		     : scratch_array_init(
			       &layer->places, scratch, sizeof(struct layer_symbol), UINT32_MAX);
}

void symbol_layer_done(struct symbol_layer *layer)
{
	scratch_array_done(&layer->places);
	scratch_array_done(&layer->symbols);
}

int symbol_layer_add(
	struct symbol_layer *layer, uint32_t start, uint32_t end, uint32_t name, bool is_guess)
{
	const struct layer_symbol symbol = {
		.start = start > layer->end ? start : layer->end,
		.end = end,
		.name = name,
		.is_guess = is_guess,
	};

	if (symbol.start >= end || name == 0)
		return 0;
	layer->end = end;
	return scratch_array_append(&layer->symbols, &symbol, sizeof(symbol));
}

int symbol_layer_add_place(struct symbol_layer *layer, uint32_t start, uint32_t end, uint32_t name)
{
	const struct layer_symbol place = { .start = start, .end = end, .name = name };

	if (start < layer->place_end || start >= end || name == 0)
		return 0;
	layer->place_end = end;
	return scratch_array_append(&layer->places, &place, sizeof(place));
}

struct fold {
	const struct layer_symbol *symbols;
	size_t symbol_count;
	size_t next; /* the first symbol that ends after the position */
	const struct layer_symbol *places;
	size_t place_count;
	size_t next_place; /* the first place that begins at or after the position */
	struct symbol_frames *frames;
	struct scratch_array *boundaries;
	uint32_t done;	/* all code before it has its boundaries */
	uint32_t frame; /* of the last boundary */
};

static int add_boundary(struct fold *fold, uint32_t offset, uint32_t frame)
{
	const struct pilotlight_symbol_boundary boundary = { .offset = offset, .frame = frame };

	if (frame == fold->frame)
		return 0;
	fold->frame = frame;
	return scratch_array_append(fold->boundaries, &boundary, sizeof(boundary));
}

/* Returns the frame of code that a symbol covers, and a function too unless `frame` is 0. */
static int choose_frame(struct fold *fold, const struct layer_symbol *symbol, uint32_t frame,
	uint32_t root, uint32_t *ret_frame)
{
	if (frame == 0)
		return symbol_frames_find_symbol(fold->frames, symbol->name, ret_frame);
	if (!symbol->is_guess)
		return symbol_frames_rename(fold->frames, frame, root, symbol->name, ret_frame);
	*ret_frame = frame;
	return 0;
}

/* Covers code without any other name. */
static int cover_places(struct fold *fold, uint32_t end)
{
	int r = 0;

	while (r == 0 && fold->done < end) {
		const struct layer_symbol *place;
		uint32_t frame = 0, until = end;

		while (fold->next_place < fold->place_count &&
			fold->places[fold->next_place].start < fold->done)
			fold->next_place++;
		place = fold->next_place < fold->place_count ? &fold->places[fold->next_place]
							     : NULL;
		if (place && place->start == fold->done) {
			until = place->end < end ? place->end : end;
			r = symbol_frames_find_symbol(fold->frames, place->name, &frame);
		} else if (place && place->start < end) {
			until = place->start;
		}
		if (r == 0)
			r = add_boundary(fold, fold->done, frame);
		fold->done = until;
	}
	return r;
}

/*
 * Adds the boundaries from the position to `end`; by its function, all that code is in `frame`, or
 * in none if it is 0.
 */
static int cover(struct fold *fold, uint32_t end, uint32_t frame, uint32_t root)
{
	while (fold->done < end) {
		const struct layer_symbol *symbol;
		uint32_t until = end, chosen = frame;
		int r = 0;

		while (fold->next < fold->symbol_count &&
			fold->symbols[fold->next].end <= fold->done)
			fold->next++;
		symbol = fold->next < fold->symbol_count ? &fold->symbols[fold->next] : NULL;
		if (symbol && symbol->start <= fold->done) {
			until = symbol->end < end ? symbol->end : end;
			r = choose_frame(fold, symbol, frame, root, &chosen);
		} else if (symbol && symbol->start < end) {
			until = symbol->start;
		}
		if (r == 0)
			r = chosen == 0 ? cover_places(fold, until)
					: add_boundary(fold, fold->done, chosen);
		if (r < 0)
			return r;
		fold->done = until;
	}
	return 0;
}

static int cover_function(void *context, uint32_t start, uint32_t end, const struct code_span *span,
	const void *entry)
{
	const struct pilotlight_symbol_boundary *boundary = entry;
	struct fold *fold = context;
	int r = cover(fold, start, 0, 0);

	return r < 0 ? r : cover(fold, end, boundary->frame, span->owner);
}

int symbol_layer_fold(const struct symbol_layer *layer, struct code_spans *functions,
	struct symbol_frames *frames, struct scratch_array *boundaries)
{
	struct fold fold = {
		.symbols = layer->symbols.items,
		.symbol_count = layer->symbols.count,
		.places = layer->places.items,
		.place_count = layer->places.count,
		.frames = frames,
		.boundaries = boundaries,
	};
	int r = code_spans_each(functions, cover_function, &fold);

	if (r == 0)
		r = cover(
			&fold, layer->end > layer->place_end ? layer->end : layer->place_end, 0, 0);
	return r < 0 ? r : add_boundary(&fold, fold.done, 0);
}
