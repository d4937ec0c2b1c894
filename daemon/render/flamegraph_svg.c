/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "render/flamegraph_svg.h"

#include "base/array.h"
#include "base/utf8.h"
#include "render/caption.h"
#include "render/flamegraph_assets.h"
#include "render/flamegraph_frames.h"
#include "render/svg_text.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

enum {
	WIDTH_PX = 1200,
	WIDTH_MIN_PX = 400,
	WIDTH_MAX_PX = 20000,
	MIN_HUNDREDTHS = 30,
	HEAD_PX = 96,
	LEGEND_PX = 28, /* from the lowest row to the legend's baseline */
	NOTE_PX = 20,
	FOOT_PX = 14, /* below the last line */
	SWATCH_PX = 12,
};

struct page {
	const struct profile *profile;
	const struct frame_tree *tree;
	struct flamegraph_geometry geometry;
	const char *title;
	struct output *output;
};

static uint64_t frames_end_px(const struct page *page)
{
	return page->geometry.top_px + page->geometry.rows * FLAMEGRAPH_ROW_PX;
}

static uint64_t height_px(const struct page *page)
{
	uint64_t notes = page->tree->elided_count > 0 ? NOTE_PX : 0;

	return frames_end_px(page) + LEGEND_PX + notes + FOOT_PX;
}

static void write_asset(struct output *output, const char *asset, const char *end)
{
	output_write(output, asset, (size_t)(end - asset));
}

static void write_subtitle(const struct page *page)
{
	struct output *output = page->output;
	char text[CAPTION_BYTES], count[CAPTION_COUNT_BYTES];
	uint64_t lost = accounts_lost(&page->profile->accounts);
	uint64_t stored = page->tree->frames[0].total - lost;

	output_string(output, "<text class=\"subtitle\" x=\"16\" y=\"50\">");
	svg_write_text(output, caption_source(page->profile, text));
	output_printf(output, " \xc2\xb7 %s sample%s", caption_count(stored, count),
		stored == 1 ? "" : "s");
	if (lost > 0)
		output_printf(output, ", %s lost", caption_count(lost, count));
	if (*caption_time(page->profile, text)) {
		output_string(output, " \xc2\xb7 ");
		svg_write_text(output, text);
	}
	output_string(output, "</text>\n");
}

static void write_head(const struct page *page)
{
	struct output *output = page->output;
	unsigned width = page->geometry.width_px;

	output_string(output, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
	output_printf(output,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"flamegraph\" width=\"%u\" "
		"height=\"%" PRIu64 "\" viewBox=\"0 0 %u %" PRIu64 "\"%s>\n",
		width, height_px(page), width, height_px(page),
		page->geometry.inverted ? " data-inverted=\"1\"" : "");
	output_string(output, "<title>");
	svg_write_text(output, page->title);
	output_string(output, "</title>\n<style>\n");
	write_asset(output, flamegraph_css, flamegraph_css_end);
	output_string(output, "</style>\n<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n");
}

static void write_heading(const struct page *page)
{
	struct output *output = page->output;

	output_printf(output,
		"<g class=\"head\">\n<rect class=\"paper\" width=\"100%%\" height=\"%d\"/>\n",
		HEAD_PX);
	output_string(output, "<text class=\"title\" x=\"16\" y=\"30\">");
	svg_write_text(output, page->title);
	output_string(output, "</text>\n");
	write_subtitle(page);
	output_string(output, "</g>\n");
}

struct legend_entry {
	enum frame_kind kind;
	char letter;
};

static void write_swatch(
	struct output *output, uint64_t x, uint64_t y, char letter, const char *name)
{
	output_printf(output,
		"<rect class=\"%c1\" x=\"%" PRIu64 "\" y=\"%" PRIu64
		"\" width=\"%d\" height=\"%d\"/>"
		"<text x=\"%" PRIu64 "\" y=\"%" PRIu64 "\">%s</text>\n",
		letter, x, y - SWATCH_PX + 2, SWATCH_PX, SWATCH_PX, x + SWATCH_PX + 5, y, name);
}

/* The kinds that there are, in the order in which a stack tends to go through them. */
static void write_legend(const struct page *page, uint64_t y)
{
	static const struct legend_entry entries[] = {
		{ FRAME_COMM, 'c' },
		{ FRAME_EXECUTABLE, 'x' },
		{ FRAME_LIBRARY, 'l' },
		{ FRAME_INLINED, 'i' },
		{ FRAME_JIT, 'j' },
		{ FRAME_KERNEL, 'k' },
		{ FRAME_SYNTHETIC, 's' },
	};
	bool present[FRAME_KIND_COUNT] = { false };
	uint64_t x = FLAMEGRAPH_MARGIN_PX;
	const char *name;

	for (size_t i = 0; i < page->tree->count; i++)
		present[page->tree->labels->items[page->tree->frames[i].label].kind] = true;
	for (size_t i = 0; i < ARRAY_SIZE(entries); i++) {
		if (!present[entries[i].kind])
			continue;
		name = frame_kind_name(entries[i].kind);
		write_swatch(page->output, x, y, entries[i].letter, name);
		x += SWATCH_PX + 5 + strlen(name) * 8 + 14;
	}
	if (page->tree->elided_count > 0)
		write_swatch(page->output, x, y, 'e', "too narrow to draw");
}

static void write_foot(const struct page *page)
{
	struct output *output = page->output;
	uint64_t y = frames_end_px(page) + LEGEND_PX;
	char frames[CAPTION_COUNT_BYTES], samples[CAPTION_COUNT_BYTES], share[CAPTION_SHARE_BYTES];

	output_string(output, "<g class=\"foot\">\n");
	write_legend(page, y);
	if (page->tree->elided_count > 0)
		output_printf(output,
			"<text class=\"note\" x=\"%d\" y=\"%" PRIu64
			"\">%s frame%s, with %s sample%s "
			"(%s %%), too narrow to draw were merged, with all that stands on them, "
			"into "
			"the grey frame of their parent.</text>\n",
			FLAMEGRAPH_MARGIN_PX, y + NOTE_PX,
			caption_count(page->tree->elided_count, frames),
			page->tree->elided_count == 1 ? "" : "s",
			caption_count(page->tree->elided, samples),
			page->tree->elided == 1 ? "" : "s",
			caption_share(page->tree->elided, page->tree->frames[0].total, share));
	output_string(output, "</g>\n");
}

static int write_page(const struct page *page)
{
	int r;

	write_head(page);
	r = flamegraph_frames_write(page->profile, page->tree, &page->geometry, page->output);
	if (r < 0)
		return r;
	write_foot(page);
	/* Over the frames, since the script keeps the heading in view while the page is scrolled.
	 */
	write_heading(page);
	output_string(page->output, "<script><![CDATA[\n");
	write_asset(page->output, flamegraph_js, flamegraph_js_end);
	output_string(page->output, "]]></script>\n</svg>\n");
	return 0;
}

static unsigned page_width(unsigned wanted)
{
	if (wanted == 0)
		return WIDTH_PX;
	if (wanted < WIDTH_MIN_PX)
		return WIDTH_MIN_PX;
	return wanted > WIDTH_MAX_PX ? WIDTH_MAX_PX : wanted;
}

int flamegraph_svg_write(const struct profile *profile,
	const struct flamegraph_svg_options *options, struct output *output)
{
	_cleanup_(frame_tree_freep) struct frame_tree *tree = NULL;
	const char *wanted_title = options->title ? options->title : "Flame graph";
	char title[UTF8_CLEAN_BYTES];
	struct page page = {
		.profile = profile,
		.title = title,
		.output = output,
		.geometry = { .width_px = page_width(options->width_px),
			.min_hundredths =
				options->min_hundredths ? options->min_hundredths : MIN_HUNDREDTHS,
			.top_px = HEAD_PX,
			.inverted = options->inverted },
	};
	int r;

	(void)utf8_clean(title, wanted_title, strlen(wanted_title));
	r = frame_tree_new(profile, options->by_line ? FRAME_BY_LINE : FRAME_BY_FUNCTION,
		flamegraph_minimum(&page.geometry, frame_samples(profile)), &tree);
	if (r < 0)
		return r;
	page.tree = tree;
	page.geometry.rows = (uint64_t)tree->depth + 1 + (tree->elided > 0);
	return write_page(&page);
}
