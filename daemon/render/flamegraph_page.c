/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "render/flamegraph_page.h"

#include "render/caption.h"
#include "render/flamegraph_assets.h"
#include "render/svg_text.h"

#include <inttypes.h>
#include <string.h>

enum {
	LEGEND_PX = 28, /* from the lowest row to the legend's baseline */
	FOOT_PX = 14,	/* below the last line */
	SWATCH_PX = 12,
};

static uint64_t height_px(const struct flamegraph_page *page)
{
	uint64_t notes = page->look->note_count + (page->cut->narrow_count > 0) +
			 (page->tree->elided_count > 0);

	return flamegraph_frames_end_px(page->tree, page->cut) + LEGEND_PX +
	       notes * FLAMEGRAPH_NOTE_PX + FOOT_PX;
}

static void write_asset(struct output *output, const char *asset, const char *end)
{
	output_write(output, asset, (size_t)(end - asset));
}

static void write_head(const struct flamegraph_page *page)
{
	const struct event_source *source = caption_event_source(page->profile);
	struct output *output = page->output;

	output_string(output, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
	output_printf(output,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"flamegraph\" width=\"%d\" "
		"height=\"%" PRIu64 "\" viewBox=\"0 0 %d %" PRIu64 "\"",
		FLAMEGRAPH_WIDTH_PX, height_px(page), FLAMEGRAPH_WIDTH_PX, height_px(page));
	/* The script then shows amounts in place of samples: times, unless the unit is another. */
	if (!event_source_is_cpu(source))
		output_printf(output, " data-period=\"%" PRIu64 "\"", page->profile->period_ns);
	if (event_source_unit(source) == EVENT_UNIT_BYTES)
		output_string(output, " data-unit=\"bytes\"");
	if (source->noun)
		output_printf(output, " data-noun=\"%s\"", source->noun);
	output_string(output, ">\n<title>");
	svg_write_text(output, page->title);
	output_string(output, "</title>\n<style>\n");
	write_asset(output, flamegraph_css, flamegraph_css_end);
	output_string(output, page->look->css);
	output_string(output, "</style>\n<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n");
}

static void write_heading(const struct flamegraph_page *page)
{
	struct output *output = page->output;

	output_printf(output,
		"<g class=\"head\">\n<rect class=\"paper\" width=\"100%%\" height=\"%d\"/>\n",
		FLAMEGRAPH_HEAD_PX);
	output_string(output, "<text class=\"title\" x=\"16\" y=\"30\">");
	svg_write_text(output, page->title);
	output_string(output, "</text>\n");
	output_string(output, "<text class=\"subtitle\" x=\"16\" y=\"50\">");
	page->look->write_subtitle(page);
	output_string(output, "</text>\n");
	output_string(output, "</g>\n");
}

uint64_t flamegraph_page_write_swatch(
	struct output *output, uint64_t x, uint64_t y, const char *class, const char *text)
{
	output_printf(output,
		"<rect class=\"%s\" x=\"%" PRIu64 "\" y=\"%" PRIu64
		"\" width=\"%d\" height=\"%d\"/>"
		"<text x=\"%" PRIu64 "\" y=\"%" PRIu64 "\">%s</text>\n",
		class, x, y - SWATCH_PX + 2, SWATCH_PX, SWATCH_PX, x + SWATCH_PX + 5, y, text);
	return x + SWATCH_PX + 5 + strlen(text) * 8 + 14;
}

static void write_note(const struct flamegraph_page *page, uint64_t y, size_t frame_count,
	uint64_t samples, const char *what)
{
	struct output *output = page->output;
	char frames[CAPTION_COUNT_BYTES], amount[CAPTION_AMOUNT_BYTES], share[CAPTION_SHARE_BYTES];

	output_printf(output,
		"<text class=\"note\" x=\"%d\" y=\"%" PRIu64
		"\">%s frame%s, with %s (%s %%), %s</text>\n",
		FLAMEGRAPH_MARGIN_PX, y, caption_count(frame_count, frames),
		frame_count == 1 ? "" : "s", caption_samples(page->profile, samples, amount),
		caption_share(samples, page->tree->frames[0].total, share), what);
}

/* Returns the baseline of the last line. */
static uint64_t write_undrawn_notes(const struct flamegraph_page *page, uint64_t y)
{
	if (page->cut->narrow_count > 0) {
		y += FLAMEGRAPH_NOTE_PX;
		write_note(page, y, page->cut->narrow_count, page->cut->narrow,
			"too narrow to draw here. In a browser, zoom shows them and search counts "
			"them.");
	}
	if (page->tree->elided_count > 0) {
		y += FLAMEGRAPH_NOTE_PX;
		write_note(page, y, page->tree->elided_count, page->tree->elided,
			"left out of this file, which would be too large. Select less to see "
			"them.");
	}
	return y;
}

static void write_foot(const struct flamegraph_page *page)
{
	uint64_t x, y = flamegraph_frames_end_px(page->tree, page->cut) + LEGEND_PX;

	output_string(page->output, "<g class=\"foot\">\n");
	x = page->look->write_legend(page, y);
	if (page->cut->narrow_count > 0 || page->tree->elided_count > 0)
		(void)flamegraph_page_write_swatch(page->output, x, y, "e1", "too narrow to draw");
	y = write_undrawn_notes(page, y);
	if (page->look->write_notes)
		page->look->write_notes(page, y + FLAMEGRAPH_NOTE_PX);
	output_string(page->output, "</g>\n");
}

int flamegraph_page_write(const struct flamegraph_page *page)
{
	int r;

	write_head(page);
	r = flamegraph_frames_write(
		page->profile, page->tree, page->cut, page->look->style, page->output);
	if (r < 0)
		return r;
	write_foot(page);
	/* Above the frames, since the script keeps the heading in view while the page scrolls. */
	write_heading(page);
	output_string(page->output, "<script><![CDATA[\n");
	write_asset(page->output, flamegraph_js, flamegraph_js_end);
	output_string(page->output, "]]></script>\n</svg>\n");
	return 0;
}
