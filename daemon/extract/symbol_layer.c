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
	*layer = (struct symbol_layer){ 0 };
	return scratch_array_init(
		&layer->symbols, scratch, sizeof(struct layer_symbol), UINT32_MAX);
}

void symbol_layer_done(struct symbol_layer *layer)
{
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

struct fold {
	const struct layer_symbol *symbols;
	size_t symbol_count;
	size_t next; /* the first symbol that ends after the position */
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
			r = add_boundary(fold, fold->done, chosen);
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
		.frames = frames,
		.boundaries = boundaries,
	};
	int r = code_spans_each(functions, cover_function, &fold);

	if (r == 0)
		r = cover(&fold, layer->end, 0, 0);
	return r < 0 ? r : add_boundary(&fold, fold.done, 0);
}
