/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "render/difference_svg.h"

#include "base/utf8.h"
#include "render/caption.h"
#include "render/difference_text.h"
#include "render/flamegraph_page.h"
#include "render/frame_difference.h"
#include "render/svg_text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { LEVELS = 4 }; /* of a colour */

#define ARROW " \xe2\x86\x92 "

/* Dark text is readable on both hues, and colour-blind readers can tell them apart. */
const char difference_svg_css[] = ".flamegraph .n0 { fill: #e7e6e2; }\n"
				  ".flamegraph .p1 { fill: #fbdfd3; }\n"
				  ".flamegraph .p2 { fill: #f8bda6; }\n"
				  ".flamegraph .p3 { fill: #f39478; }\n"
				  ".flamegraph .p4 { fill: #ea6a4f; }\n"
				  ".flamegraph .m1 { fill: #d9e6f6; }\n"
				  ".flamegraph .m2 { fill: #b5d0ee; }\n"
				  ".flamegraph .m3 { fill: #86b3e5; }\n"
				  ".flamegraph .m4 { fill: #5994da; }\n";

static const char *const fewer_classes[LEVELS + 1] = { "n0", "m1", "m2", "m3", "m4" };
static const char *const more_classes[LEVELS + 1] = { "n0", "p1", "p2", "p3", "p4" };

struct picture {
	const struct profile_difference *difference;
	const struct frame_difference *frames;
	struct flamegraph_cut cut;
	char names[DIFFERENCE_SIDE_COUNT][UTF8_CLEAN_BYTES];
	uint64_t steps[LEVELS + 1]; /* the least change of each level; 0 for level 0 */
};

static int64_t total_change(const struct picture *picture, size_t frame)
{
	return profile_difference_change(
		picture->difference, picture->frames->changes[frame].total);
}

static bool is_certain(const struct picture *picture, size_t frame)
{
	return profile_difference_is_certain(
		picture->difference, picture->frames->changes[frame].total);
}

static unsigned level_of(const struct picture *picture, size_t frame)
{
	int64_t change = total_change(picture, frame);
	unsigned level = is_certain(picture, frame) ? LEVELS : 0;

	while ((uint64_t)llabs(change) < picture->steps[level])
		level--;
	return level;
}

/*
 * Each level begins at a fixed fraction of the greatest change that is certain, the first with the
 * least.
 */
static void find_steps(struct picture *picture)
{
	static const unsigned parts[LEVELS] = { 40, 10, 4, 2 };
	const struct frame_change *root = &picture->frames->changes[0];
	uint64_t greatest = 0, least = UINT64_MAX, change;

	for (enum difference_side i = 0; i < DIFFERENCE_SIDE_COUNT; i++) {
		change = (uint64_t)profile_difference_share(picture->difference, i, root->total[i]);
		if (change / 100 > greatest)
			greatest = change / 100;
	}
	for (size_t i = 0; i < picture->frames->tree->count; i++) {
		if (!is_certain(picture, i))
			continue;
		change = (uint64_t)llabs(total_change(picture, i));
		if (change > greatest)
			greatest = change;
		if (change < least)
			least = change;
	}
	for (unsigned i = 0; i < LEVELS; i++)
		picture->steps[i + 1] = greatest / parts[i];
	if (least < picture->steps[1])
		picture->steps[1] = least;
}

/* --- frames --- */

static const char *class_of(const void *context, size_t frame)
{
	int64_t change = total_change(context, frame);

	return (change < 0 ? fewer_classes : more_classes)[level_of(context, frame)];
}

static const char *mark_of(const void *context, size_t frame)
{
	int64_t change = total_change(context, frame);

	if (level_of(context, frame) == 0)
		return "";
	return change < 0 ? "- " : "+ ";
}

/* The other data are weights (frame_difference.h); these are the samples of both sides. */
static void write_data(const void *context, size_t frame, struct output *output)
{
	static const char names[][DIFFERENCE_SIDE_COUNT] = { { 'o', 'c' }, { 'q', 'd' } };
	const struct picture *picture = context;
	const struct frame_change *change = &picture->frames->changes[frame];
	const struct frame_tree *tree = picture->frames->tree;

	for (enum difference_side i = 0; i < DIFFERENCE_SIDE_COUNT; i++) {
		if (change->total[i] > 0)
			output_printf(
				output, " data-%c=\"%" PRIu64 "\"", names[0][i], change->total[i]);
		if (change->self[i] > 0)
			output_printf(
				output, " data-%c=\"%" PRIu64 "\"", names[1][i], change->self[i]);
	}
	if (tree->labels->items[tree->frames[frame].label].kind == FRAME_INLINED)
		output_string(output, " data-i=\"1\"");
}

static void write_narrow(const void *context, size_t frame, struct output *output)
{
	static const struct frame_change left_out;
	const struct picture *picture = context;
	const struct frame_change *change =
		frame == SIZE_MAX ? &left_out : &picture->frames->changes[frame];

	for (enum difference_side i = 0; i < DIFFERENCE_SIDE_COUNT; i++)
		output_printf(output, ",%" PRIu64 ",%" PRIu64, change->total[i], change->self[i]);
}

/* "total 12.34 % → 15.00 %, +2.66 points (+21.6 %)" */
static void write_change(const struct picture *picture, const char *what,
	const uint64_t samples[DIFFERENCE_SIDE_COUNT], struct output *output)
{
	const struct profile_difference *difference = picture->difference;
	int64_t shares[DIFFERENCE_SIDE_COUNT];
	char base[DIFFERENCE_TEXT_BYTES], compared[DIFFERENCE_TEXT_BYTES];
	char points[DIFFERENCE_TEXT_BYTES], ratio[DIFFERENCE_TEXT_BYTES];

	for (enum difference_side i = 0; i < DIFFERENCE_SIDE_COUNT; i++)
		shares[i] = profile_difference_share(difference, i, samples[i]);
	output_printf(output, "%s %s %%" ARROW "%s %%, %s points (%s)\n", what,
		difference_share(shares[DIFFERENCE_BASE], base),
		difference_share(shares[DIFFERENCE_COMPARED], compared),
		difference_points(profile_difference_change(difference, samples), points),
		difference_ratio(shares[DIFFERENCE_BASE], shares[DIFFERENCE_COMPARED], ratio));
}

static void write_samples(const void *context, size_t frame, struct output *output)
{
	const struct picture *picture = context;
	const struct frame_change *change = &picture->frames->changes[frame];
	const struct profile *const *sides = picture->difference->sides;
	char base[CAPTION_AMOUNT_BYTES], compared[CAPTION_AMOUNT_BYTES];

	write_change(picture, "total", change->total, output);
	write_change(picture, "self", change->self, output);
	output_printf(output, "%s" ARROW "%s",
		caption_amount(sides[DIFFERENCE_BASE], change->total[DIFFERENCE_BASE], base),
		caption_samples(
			sides[DIFFERENCE_COMPARED], change->total[DIFFERENCE_COMPARED], compared));
}

/* --- page --- */

static const struct picture *picture_of(const struct flamegraph_page *page)
{
	return page->look->context;
}

static bool same_source(const struct profile_difference *difference)
{
	char base[CAPTION_BYTES], compared[CAPTION_BYTES];

	return strcmp(caption_source(difference->sides[DIFFERENCE_BASE], base),
		       caption_source(difference->sides[DIFFERENCE_COMPARED], compared)) == 0;
}

/* "base: 993 samples, 15 lost, 2026-11-20 03:00:00 UTC, 10.0 s" */
static void write_side(
	const struct picture *picture, enum difference_side side, struct output *output)
{
	const struct profile *profile = picture->difference->sides[side];
	uint64_t lost = accounts_lost(&profile->accounts);
	uint64_t stored = picture->difference->samples[side] - lost;
	char text[CAPTION_BYTES], amount[CAPTION_AMOUNT_BYTES];

	svg_write_text(output, picture->names[side]);
	output_printf(output, ": %s", caption_samples(profile, stored, amount));
	if (lost > 0)
		output_printf(output, ", %s lost", caption_amount(profile, lost, amount));
	if (*caption_time(profile, text)) {
		output_string(output, ", ");
		svg_write_text(output, text);
	}
	if (same_source(picture->difference))
		return;
	output_string(output, ", ");
	svg_write_text(output, caption_source(profile, text));
}

static void write_subtitle(const struct flamegraph_page *page)
{
	const struct picture *picture = picture_of(page);
	char text[CAPTION_BYTES];

	write_side(picture, DIFFERENCE_BASE, page->output);
	output_string(page->output, ARROW);
	write_side(picture, DIFFERENCE_COMPARED, page->output);
	if (!same_source(picture->difference))
		return;
	output_string(page->output, " \xc2\xb7 ");
	svg_write_text(page->output, caption_source(page->profile, text));
}

/* From the greatest decrease to the greatest increase, each with its least change. */
static uint64_t write_legend(const struct flamegraph_page *page, uint64_t y)
{
	const struct picture *picture = picture_of(page);
	char text[DIFFERENCE_TEXT_BYTES];
	uint64_t x = FLAMEGRAPH_MARGIN_PX;

	for (unsigned i = LEVELS; i > 0; i--)
		x = flamegraph_page_write_swatch(page->output, x, y, fewer_classes[i],
			difference_points(-(int64_t)picture->steps[i], text));
	x = flamegraph_page_write_swatch(page->output, x, y, "n0", "about the same");
	for (unsigned i = 1; i <= LEVELS; i++)
		x = flamegraph_page_write_swatch(page->output, x, y, more_classes[i],
			difference_points((int64_t)picture->steps[i], text));
	output_printf(page->output,
		"<text class=\"note\" x=\"%" PRIu64 "\" y=\"%" PRIu64
		"\">percentage points at least</text>\n",
		x, y);
	return x + 180;
}

/* The script computes the shares of a frame from this. */
static void write_metadata(const struct picture *picture, struct output *output)
{
	const struct profile_difference *difference = picture->difference;
	const uint64_t *wholes = difference->whole_millionths;

	output_printf(output,
		"<metadata class=\"difference\">{\"wholes\":[%" PRIu64 ".%06" PRIu64 ",%" PRIu64
		".%06" PRIu64 "]",
		wholes[DIFFERENCE_BASE] / 1000000, wholes[DIFFERENCE_BASE] % 1000000,
		wholes[DIFFERENCE_COMPARED] / 1000000, wholes[DIFFERENCE_COMPARED] % 1000000);
	if (!profile_difference_is_cpu(difference))
		output_printf(output, ",\"periods\":[%" PRIu64 ",%" PRIu64 "]",
			difference->sides[DIFFERENCE_BASE]->period_ns,
			difference->sides[DIFFERENCE_COMPARED]->period_ns);
	output_string(output, "}</metadata>\n");
}

static void write_note_begin(struct output *output, uint64_t y)
{
	output_printf(output, "<text class=\"note\" x=\"%d\" y=\"%" PRIu64 "\">",
		FLAMEGRAPH_MARGIN_PX, y);
}

static void write_notes(const struct flamegraph_page *page, uint64_t y)
{
	const struct picture *picture = picture_of(page);
	struct output *output = page->output;

	write_note_begin(output, y);
	output_string(output, "+ red is more in \xe2\x80\x9c");
	svg_write_text(output, picture->names[DIFFERENCE_COMPARED]);
	output_string(output, "\xe2\x80\x9d, - blue is less; a frame without a colour changed by "
			      "no more than the "
			      "error of sampling.</text>\n");
	write_note_begin(output, y + FLAMEGRAPH_NOTE_PX);
	output_printf(output,
		"A frame is as wide as the mean of its shares in both. Shares are of %s.</text>\n",
		difference_whole_text(picture->difference));
	write_metadata(picture, output);
}

static int write_picture(const struct picture *picture, struct output *output)
{
	const struct flamegraph_style style = {
		.context = picture,
		.class_of = class_of,
		.mark_of = mark_of,
		.write_data = write_data,
		.write_narrow = write_narrow,
		.write_samples = write_samples,
	};
	const struct flamegraph_look look = {
		.css = difference_svg_css,
		.style = &style,
		.note_count = 2,
		.context = picture,
		.write_subtitle = write_subtitle,
		.write_legend = write_legend,
		.write_notes = write_notes,
	};
	const struct flamegraph_page page = {
		.profile = picture->difference->sides[DIFFERENCE_COMPARED],
		.tree = picture->frames->tree,
		.cut = &picture->cut,
		.look = &look,
		.title = "Differential flame graph",
		.output = output,
	};

	return flamegraph_page_write(&page);
}

int difference_svg_write(const struct profile_difference *difference,
	const char *const names[DIFFERENCE_SIDE_COUNT], enum frame_detail detail,
	struct output *output)
{
	_cleanup_(frame_difference_freep) struct frame_difference *frames = NULL;
	const struct frame_budget budget = {
		.frames = flamegraph_budget.frames / DIFFERENCE_SIDE_COUNT,
		.label_bytes = flamegraph_budget.label_bytes / DIFFERENCE_SIDE_COUNT,
	};
	struct picture picture = { .difference = difference };
	int r;

	r = frame_difference_new(difference, detail, &budget, &frames);
	if (r < 0)
		return r;
	r = flamegraph_cut_init(&picture.cut, frames->tree,
		flamegraph_minimum(frames->tree->frames[0].total),
		flamegraph_row_minimum(frames->tree->frames[0].total));
	if (r < 0)
		return r;
	picture.frames = frames;
	for (enum difference_side i = 0; i < DIFFERENCE_SIDE_COUNT; i++)
		(void)utf8_clean(picture.names[i], names[i], strlen(names[i]));
	find_steps(&picture);
	return write_picture(&picture, output);
}
