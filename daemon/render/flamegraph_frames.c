/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "render/flamegraph_frames.h"

#include "render/caption.h"
#include "render/flamegraph_drawing.h"
#include "render/flamegraph_narrow.h"
#include "render/short_name.h"
#include "render/svg_text.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

enum {
	WIDTH_HUNDREDTHS = (FLAMEGRAPH_WIDTH_PX - 2 * FLAMEGRAPH_MARGIN_PX) * 100, /* of the root */
	MIN_HUNDREDTHS = 30,	  /* of a pixel: the narrowest frame that is drawn */
	ROW_MIN_HUNDREDTHS = 300, /* all frames of a row, for the picture to get higher */
	COLUMN_HUNDREDTHS = 723,  /* of the 12 px fixed-width font */
	GAP_HUNDREDTHS = 50,	  /* between siblings that are wider than: */
	GAP_FROM_HUNDREDTHS = 300,
	LABEL_PADDING_PX = 4,
	LABEL_COLUMNS_MIN = 3,
	LABEL_BASELINE_PX = 13,
};

/* Where a frame stands, in samples from the left. */
struct placed {
	const struct frame *frame;
	uint64_t offset;
};

static void drawing_done(struct flamegraph_drawing *drawing)
{
	free(drawing->next_offsets);
	free(drawing->undrawn);
	free(drawing->binaries.positions);
	free(drawing->files.positions);
}

const struct frame_budget flamegraph_budget = { .frames = 100000, .label_bytes = 4 << 20 };

static uint64_t samples_of(uint64_t hundredths, uint64_t samples)
{
	return (uint64_t)(((unsigned __int128)samples * hundredths + WIDTH_HUNDREDTHS - 1) /
			  WIDTH_HUNDREDTHS);
}

uint64_t flamegraph_minimum(uint64_t samples)
{
	return samples_of(MIN_HUNDREDTHS, samples);
}

uint64_t flamegraph_row_minimum(uint64_t samples)
{
	return samples_of(ROW_MIN_HUNDREDTHS, samples);
}

/* Converts an offset in samples into hundredths of a pixel from the left edge of the frames. */
static uint64_t scale(const struct flamegraph_drawing *drawing, uint64_t offset)
{
	if (drawing->samples == 0)
		return offset ? WIDTH_HUNDREDTHS : 0;
	return (uint64_t)((unsigned __int128)offset * WIDTH_HUNDREDTHS / drawing->samples);
}

uint64_t flamegraph_frames_end_px(const struct frame_tree *tree, const struct flamegraph_cut *cut)
{
	uint64_t rows = (uint64_t)cut->depth + 1 + (cut->narrow > 0 || tree->elided > 0);

	return FLAMEGRAPH_HEAD_PX + rows * FLAMEGRAPH_ROW_PX;
}

static uint64_t row_px(const struct flamegraph_drawing *drawing, uint32_t depth)
{
	return flamegraph_frames_end_px(drawing->tree, drawing->cut) -
	       ((uint64_t)depth + 1) * FLAMEGRAPH_ROW_PX;
}

static void write_rectangle(const struct flamegraph_drawing *drawing, const char *class,
	uint32_t depth, uint64_t offset, uint64_t total)
{
	uint64_t left = scale(drawing, offset);
	uint64_t width =
		drawing->samples ? scale(drawing, offset + total) - left : WIDTH_HUNDREDTHS;
	struct output *output = drawing->output;

	output_string(output, "<rect class=\"");
	output_string(output, class);
	output_string(output, "\" x=\"");
	svg_write_hundredths(output, left + FLAMEGRAPH_MARGIN_PX * 100);
	output_string(output, "\" y=\"");
	output_u64(output, row_px(drawing, depth));
	output_string(output, "\" width=\"");
	svg_write_hundredths(output, width > GAP_FROM_HUNDREDTHS ? width - GAP_HUNDREDTHS : width);
	output_printf(output, "\" height=\"%d\" data-n=\"", FLAMEGRAPH_FRAME_PX);
	output_u64(output, total);
}

static void write_samples(const struct flamegraph_drawing *drawing, uint64_t total)
{
	char amount[CAPTION_AMOUNT_BYTES], share[CAPTION_SHARE_BYTES];

	output_char(drawing->output, '\n');
	if (!drawing->style) {
		output_string(drawing->output, caption_samples(drawing->profile, total, amount));
		output_string(drawing->output, ", ");
	}
	output_string(drawing->output, caption_share(total, drawing->samples, share));
	output_string(drawing->output, " %");
}

static void write_place_data(struct flamegraph_drawing *drawing, const struct frame *frame)
{
	const struct frame_place *place = &drawing->tree->places->items[frame->place];

	output_printf(drawing->output, "\" data-l=\"%" PRIu32 ":%" PRIu32,
		flamegraph_listing_position(&drawing->files, place->file), place->line);
	if (frame->place_count > 1)
		output_printf(drawing->output, ":%" PRIu32 ":%" PRIu64, frame->place_count,
			frame->place_total);
}

/* For example "inlined, hottest of 3 lines: match.h:12"; parts that do not apply are left out. */
static void write_place(const struct flamegraph_drawing *drawing, const struct frame *frame)
{
	bool is_inlined = drawing->tree->labels->items[frame->label].kind == FRAME_INLINED;
	struct output *output = drawing->output;
	char text[FRAME_PLACE_BYTES];

	if (is_inlined)
		output_string(output, "\ninlined");
	if (frame->place == FRAME_NONE)
		return;
	output_string(output, is_inlined ? ", " : "\n");
	if (frame->place_count > 1)
		output_printf(output, "hottest of %" PRIu32 " lines: ", frame->place_count);
	svg_write_text(output, frame_place_format(drawing->profile,
				       &drawing->tree->places->items[frame->place], text));
}

static void write_frame(struct flamegraph_drawing *drawing, const struct placed *placed)
{
	const struct frame *frame = placed->frame;
	const struct frame_label *label = &drawing->tree->labels->items[frame->label];
	const struct flamegraph_style *style = drawing->style;
	struct output *output = drawing->output;
	size_t position = (size_t)(frame - drawing->tree->frames);
	char name[FRAME_NAME_BYTES], class[FLAMEGRAPH_CLASS_BYTES];

	(void)frame_label_format(label, name);
	flamegraph_frame_class(drawing, frame, class);
	write_rectangle(drawing, class, frame->depth, placed->offset, frame->total);
	if (frame->self > 0) {
		output_string(output, "\" data-s=\"");
		output_u64(output, frame->self);
	}
	if (frame->binary != FRAME_NONE) {
		output_string(output, "\" data-b=\"");
		output_u64(output, flamegraph_listing_position(&drawing->binaries, frame->binary));
	}
	if (frame->place != FRAME_NONE)
		write_place_data(drawing, frame);
	output_char(output, '"');
	if (style)
		style->write_data(style->context, position, output);
	output_string(output, "><title>");
	svg_write_text(output, name);
	write_place(drawing, frame);
	if (style) {
		output_char(output, '\n');
		style->write_samples(style->context, position, output);
	} else {
		write_samples(drawing, frame->total);
	}
	output_string(output, "</title></rect>\n");
}

/* One grey frame at the right of the children that are drawn, before the frame's own samples. */
static void write_undrawn(const struct flamegraph_drawing *drawing, const struct placed *placed)
{
	const struct frame *frame = placed->frame;
	const struct flamegraph_undrawn *undrawn = &drawing->undrawn[frame - drawing->tree->frames];
	uint64_t offset = placed->offset + frame->total - frame->self - undrawn->total;
	char count[CAPTION_COUNT_BYTES];

	if (undrawn->total == 0 || undrawn->total < flamegraph_minimum(drawing->samples))
		return;
	write_rectangle(drawing, "e0", frame->depth + 1, offset, undrawn->total);
	output_string(drawing->output, "\"><title>");
	output_string(drawing->output, caption_count(undrawn->count, count));
	output_string(drawing->output, undrawn->count == 1 ? " frame" : " frames");
	output_string(drawing->output, " too narrow to draw");
	write_samples(drawing, undrawn->total);
	output_string(drawing->output, "</title></rect>\n");
}

static struct placed place(struct flamegraph_drawing *drawing, const struct frame *frame)
{
	struct placed placed = { .frame = frame, .offset = drawing->next_offsets[frame->depth] };

	drawing->next_offsets[frame->depth] += frame->total;
	drawing->next_offsets[frame->depth + 1] = placed.offset;
	return placed;
}

static size_t format_mark(const struct flamegraph_style *style, size_t frame, char *text)
{
	const char *mark = style->mark_of(style->context, frame);
	size_t size = strlen(mark);

	assert(size < FLAMEGRAPH_MARK_BYTES);
	memcpy(text, mark, size);
	return size;
}

static void write_label(const struct flamegraph_drawing *drawing, const struct placed *placed)
{
	const struct frame *frame = placed->frame;
	uint64_t left = scale(drawing, placed->offset);
	uint64_t width = scale(drawing, placed->offset + frame->total) - left;
	const struct flamegraph_style *style = drawing->style;
	struct output *output = drawing->output;
	char text[FLAMEGRAPH_MARK_BYTES + FRAME_NAME_BYTES];
	size_t columns, mark_bytes = 0;

	if (drawing->samples == 0)
		width = WIDTH_HUNDREDTHS;
	if (width < 2 * LABEL_PADDING_PX * 100 + LABEL_COLUMNS_MIN * COLUMN_HUNDREDTHS)
		return;
	columns = (width - 2 * LABEL_PADDING_PX * 100) / COLUMN_HUNDREDTHS;
	if (style)
		mark_bytes = format_mark(style, (size_t)(frame - drawing->tree->frames), text);
	(void)frame_label_format(&drawing->tree->labels->items[frame->label], text + mark_bytes);
	if (svg_text_columns(text) > columns)
		(void)short_name(text + mark_bytes);
	svg_elide_text(text, sizeof(text), columns);
	output_string(output, "<text x=\"");
	svg_write_hundredths(output, left + (FLAMEGRAPH_MARGIN_PX + LABEL_PADDING_PX) * 100);
	output_printf(
		output, "\" y=\"%" PRIu64 "\">", row_px(drawing, frame->depth) + LABEL_BASELINE_PX);
	svg_write_text(output, text);
	output_string(output, "</text>\n");
}

/* [["/usr/bin/xz","b61d…"],…], each where data-b points. */
static int write_binaries(const struct flamegraph_drawing *drawing)
{
	const struct profile *profile = drawing->profile;
	struct output *output = drawing->output;
	_cleanup_free_ uint32_t *ids = flamegraph_listing_ids(&drawing->binaries);
	char hex[BUILD_ID_HEX_BYTES];

	if (!ids)
		return -ENOMEM;
	output_string(output, "<metadata class=\"binaries\">[");
	for (uint32_t i = 0; i < drawing->binaries.count; i++) {
		const struct profile_binary *binary = &profile->binaries.items[ids[i]];

		output_string(output, i > 0 ? ",\n[\"" : "[\"");
		svg_write_json(output, string_pool_get(&profile->strings, binary->path));
		output_string(output, "\",\"");
		output_string(output, build_id_format(&binary->build_id, hex));
		output_string(output, "\"]");
	}
	output_string(output, "]</metadata>\n");
	return 0;
}

/* ["/src/match.h",…], each where data-l points. */
static int write_files(const struct flamegraph_drawing *drawing)
{
	const struct profile *profile = drawing->profile;
	struct output *output = drawing->output;
	_cleanup_free_ uint32_t *ids = flamegraph_listing_ids(&drawing->files);

	if (!ids)
		return -ENOMEM;
	output_string(output, "<metadata class=\"files\">[");
	for (uint32_t i = 0; i < drawing->files.count; i++) {
		output_string(output, i > 0 ? ",\n\"" : "\"");
		svg_write_json(output, string_pool_get(&profile->strings, ids[i]));
		output_char(output, '"');
	}
	output_string(output, "]</metadata>\n");
	return 0;
}

/* Adds up what each drawn frame has of children that are not drawn. */
static int sum_undrawn(struct flamegraph_drawing *drawing)
{
	const struct frame_tree *tree = drawing->tree;
	_cleanup_free_ size_t *path = calloc((size_t)tree->depth + 1, sizeof(*path));

	drawing->undrawn = calloc(tree->count, sizeof(*drawing->undrawn));
	if (!path || !drawing->undrawn)
		return -ENOMEM;
	for (size_t i = 0; i < tree->count; i++) {
		const struct frame *frame = &tree->frames[i];

		path[frame->depth] = i;
		drawing->undrawn[i].total += frame->elided;
		drawing->undrawn[i].count += frame->elided_count;
		if (flamegraph_cut_draws(drawing->cut, frame))
			continue;
		drawing->undrawn[path[frame->depth - 1]].total += frame->total;
		drawing->undrawn[path[frame->depth - 1]].count++;
	}
	return 0;
}

static int drawing_init(struct flamegraph_drawing *drawing)
{
	int r;

	drawing->next_offsets = calloc((size_t)drawing->tree->depth + 2, sizeof(uint64_t));
	if (!drawing->next_offsets)
		return -ENOMEM;
	r = sum_undrawn(drawing);
	if (r < 0)
		return r;
	r = flamegraph_listing_init(&drawing->binaries, drawing->profile->binaries.count);
	if (r < 0)
		return r;
	return flamegraph_listing_init(&drawing->files, drawing->profile->strings.count);
}

int flamegraph_frames_write(const struct profile *profile, const struct frame_tree *tree,
	const struct flamegraph_cut *cut, const struct flamegraph_style *style,
	struct output *output)
{
	_cleanup_(drawing_done) struct flamegraph_drawing drawing = { .profile = profile,
		.tree = tree,
		.cut = cut,
		.style = style,
		.output = output,
		.samples = tree->frames[0].total };
	struct placed placed;
	int r;

	r = drawing_init(&drawing);
	if (r < 0)
		return r;
	output_printf(output, "<g class=\"frames\" data-row=\"%d\">\n", FLAMEGRAPH_ROW_PX);
	for (size_t i = 0; i < tree->count; i++) {
		if (!flamegraph_cut_draws(cut, &tree->frames[i]))
			continue;
		placed = place(&drawing, &tree->frames[i]);
		write_frame(&drawing, &placed);
		write_undrawn(&drawing, &placed);
	}
	output_string(output, "</g>\n<g class=\"labels\">\n");
	drawing.next_offsets[0] = 0;
	for (size_t i = 0; i < tree->count; i++) {
		if (!flamegraph_cut_draws(cut, &tree->frames[i]))
			continue;
		placed = place(&drawing, &tree->frames[i]);
		write_label(&drawing, &placed);
	}
	output_string(output, "</g>\n");
	r = flamegraph_narrow_write(&drawing);
	if (r == 0)
		r = write_binaries(&drawing);
	return r < 0 ? r : write_files(&drawing);
}
