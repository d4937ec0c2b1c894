/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "render/flamegraph_narrow.h"

#include "base/array.h"
#include "render/svg_text.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

struct look {
	uint32_t label, binary, place;
	bool has_places; /* several */
	char class[FLAMEGRAPH_CLASS_BYTES];
};

struct looks {
	struct look *items; /* items[0] is of what was left out, with no label */
	size_t count, capacity;
	struct hash_index index;
	uint32_t *of_frames; /* by frame of the tree; FRAME_NONE: drawn */
};

static void looks_done(struct looks *looks)
{
	free(looks->items);
	free(looks->of_frames);
	hash_index_done(&looks->index);
}

static bool look_equal(const void *owner, uint32_t id, const void *key)
{
	const struct look *item = &((const struct looks *)owner)->items[id], *wanted = key;

	return item->label == wanted->label && item->binary == wanted->binary &&
	       item->place == wanted->place && item->has_places == wanted->has_places &&
	       strcmp(item->class, wanted->class) == 0;
}

static int add_look(struct looks *looks, const struct look *look, uint32_t *ret_position)
{
	uint64_t hash = hash_pair(hash_pair(look->label, look->binary),
		hash_pair(look->place, hash_bytes(look->class, strlen(look->class))));
	uint32_t id = hash_index_find(&looks->index, hash, look_equal, looks, look);
	int r;

	if (id == HASH_INDEX_NONE) {
		r = ARRAY_RESERVE(looks->items, &looks->capacity, looks->count + 1, FRAME_NONE - 1);
		if (r < 0)
			return r;
		r = hash_index_reserve(&looks->index);
		if (r < 0)
			return r;
		id = (uint32_t)looks->count++;
		looks->items[id] = *look;
		hash_index_insert(&looks->index, hash, id);
	}
	*ret_position = id;
	return 0;
}

static int find_looks(struct looks *looks, const struct flamegraph_drawing *drawing)
{
	const struct frame_tree *tree = drawing->tree;
	const struct look left_out = { FRAME_NONE, FRAME_NONE, FRAME_NONE, false, "e0" };
	uint32_t none;
	int r = add_look(looks, &left_out, &none);

	if (r < 0)
		return r;
	looks->of_frames = calloc(tree->count, sizeof(*looks->of_frames));
	if (!looks->of_frames)
		return -ENOMEM;
	for (size_t i = 0; i < tree->count; i++) {
		const struct frame *frame = &tree->frames[i];
		struct look look = { frame->label, frame->binary, frame->place,
			frame->place_count > 1, "" };

		looks->of_frames[i] = FRAME_NONE;
		if (flamegraph_cut_draws(drawing->cut, frame))
			continue;
		flamegraph_frame_class(drawing, frame, look.class);
		r = add_look(looks, &look, &looks->of_frames[i]);
		if (r < 0)
			return r;
	}
	return 0;
}

static void write_look(struct flamegraph_drawing *drawing, const struct look *look)
{
	const struct frame_tree *tree = drawing->tree;
	struct output *output = drawing->output;
	char name[FRAME_NAME_BYTES] = "frames left out of this file";
	bool is_inlined = false;

	if (look->label != FRAME_NONE) {
		(void)frame_label_format(&tree->labels->items[look->label], name);
		is_inlined = tree->labels->items[look->label].kind == FRAME_INLINED;
	}
	output_string(output, "[\"");
	svg_write_json(output, name);
	output_printf(output, "\",\"%s\",", look->class);
	if (look->binary == FRAME_NONE)
		output_string(output, "-1");
	else
		output_u64(output, flamegraph_listing_position(&drawing->binaries, look->binary));
	output_string(output, ",\"");
	if (look->place != FRAME_NONE) {
		const struct frame_place *place = &tree->places->items[look->place];

		output_printf(output, "%" PRIu32 ":%" PRIu32 "%s",
			flamegraph_listing_position(&drawing->files, place->file), place->line,
			look->has_places ? ":+" : "");
	}
	output_printf(output, "\",%d]", is_inlined);
}

static void write_number(struct output *output, uint64_t number)
{
	output_char(output, ',');
	output_u64(output, number);
}

static void write_frame(const struct flamegraph_drawing *drawing, const struct looks *looks,
	const struct frame *frame, uint32_t level)
{
	const struct flamegraph_style *style = drawing->style;
	size_t position = (size_t)(frame - drawing->tree->frames);
	struct output *output = drawing->output;

	write_number(output, looks->of_frames[position]);
	write_number(output, level);
	write_number(output, frame->self);
	if (style)
		style->write_narrow(style->context, position, output);
	if (frame->elided == 0)
		return;
	write_number(output, 0);
	write_number(output, level + 1);
	write_number(output, frame->elided);
	if (style)
		style->write_narrow(style->context, SIZE_MAX, output);
}

static void write_stacks(
	const struct flamegraph_drawing *drawing, const struct looks *looks, uint32_t *rectangles)
{
	const struct frame_tree *tree = drawing->tree;
	struct output *output = drawing->output;
	uint32_t drawn = 0, base = 0; /* the depth of the parent of narrow frames */
	bool is_open = false, is_first = true;

	for (size_t i = 0; i < tree->count; i++) {
		const struct frame *frame = &tree->frames[i];

		if (looks->of_frames[i] == FRAME_NONE) {
			rectangles[frame->depth] = drawn++;
			if (is_open)
				output_char(output, ']');
			is_open = false;
			continue;
		}
		if (!is_open || frame->depth <= base + 1) {
			output_string(output, is_open ? "],\n[" : is_first ? "[" : ",\n[");
			base = frame->depth - 1;
			output_u64(output, rectangles[base]);
			is_open = true;
			is_first = false;
		}
		write_frame(drawing, looks, frame, frame->depth - base);
	}
	if (is_open)
		output_char(output, ']');
}

int flamegraph_narrow_write(struct flamegraph_drawing *drawing)
{
	_cleanup_(looks_done) struct looks looks = { 0 };
	_cleanup_free_ uint32_t *rectangles =
		calloc((size_t)drawing->tree->depth + 1, sizeof(*rectangles));
	struct output *output = drawing->output;
	int r;

	if (!rectangles)
		return -ENOMEM;
	r = find_looks(&looks, drawing);
	if (r < 0)
		return r;
	output_string(output, "<metadata class=\"narrow\">{\"looks\":[");
	for (size_t i = 0; i < looks.count; i++) {
		if (i > 0)
			output_string(output, ",\n");
		write_look(drawing, &looks.items[i]);
	}
	output_string(output, "],\n\"frames\":[");
	write_stacks(drawing, &looks, rectangles);
	output_string(output, "]}</metadata>\n");
	return 0;
}
