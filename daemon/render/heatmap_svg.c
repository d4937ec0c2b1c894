/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "render/heatmap_svg.h"

#include "base/array.h"
#include "base/clock.h"
#include "render/caption.h"
#include "render/content_source.h"
#include "render/svg_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum {
	LEVELS = 8,
	LEFT_PX = 60,
	TOP_PX = 74,
	ROW_PX = 5,
	HEIGHT_PX = HEATMAP_ROWS * ROW_PX,
	WIDTH_PX = 1100, /* of the columns, if they are not narrower than a pixel */
	COLUMN_PX_MAX = 12,
	RIGHT_PX = 24,
	FOOT_PX = 64,
	LABEL_PX = 110,
	CLOCK_BYTES = 64,
	TABLE_ROWS = 20,
};

/* One hue from light to dark, so that lightness alone tells the levels apart. */
static const char css[] =
	".heatmap { background: #fff; }\n"
	".heatmap text, .heatmap-page { font: 12px system-ui, \"Segoe UI\", Roboto, \"Helvetica "
	"Neue\", \"DejaVu Sans\", Arial, sans-serif; fill: #3d434c; color: #3d434c; }\n"
	".heatmap .title { font-size: 18px; font-weight: 600; fill: #15181d; }\n"
	".heatmap .paper { fill: #fff; }\n"
	".heatmap .ground { fill: #f3f4f6; }\n"
	".heatmap .h { stroke: transparent; pointer-events: stroke; }\n"
	".heatmap path { fill: none; shape-rendering: crispEdges; }\n"
	".heatmap .l1 { stroke: #fde3c4; fill: #fde3c4; }\n"
	".heatmap .l2 { stroke: #fdcb98; fill: #fdcb98; }\n"
	".heatmap .l3 { stroke: #fdad6b; fill: #fdad6b; }\n"
	".heatmap .l4 { stroke: #f88d45; fill: #f88d45; }\n"
	".heatmap .l5 { stroke: #e96b24; fill: #e96b24; }\n"
	".heatmap .l6 { stroke: #cb4c0e; fill: #cb4c0e; }\n"
	".heatmap .l7 { stroke: #9e3704; fill: #9e3704; }\n"
	".heatmap .l8 { stroke: #6b2303; fill: #6b2303; }\n"
	".heatmap .right { text-anchor: end; }\n"
	".heatmap-page { margin: 16px; }\n"
	".heatmap-page table { border-collapse: collapse; margin-top: 16px; }\n"
	".heatmap-page td, .heatmap-page th { padding: 2px 12px 2px 0; text-align: right; }\n"
	".heatmap-page div { overflow-x: auto; }\n"
	"@media screen and (prefers-color-scheme: dark) {\n"
	"\t.heatmap, .heatmap-page { background: #16191e; }\n"
	"\t.heatmap text, .heatmap-page { fill: #c3c9d2; color: #c3c9d2; }\n"
	"\t.heatmap .title { fill: #f0f2f5; }\n"
	"\t.heatmap .paper { fill: #16191e; }\n"
	"\t.heatmap .ground { fill: #22262d; }\n"
	"\t.heatmap .l1 { stroke: #4a2a14; fill: #4a2a14; }\n"
	"\t.heatmap .l2 { stroke: #6b3713; fill: #6b3713; }\n"
	"\t.heatmap .l3 { stroke: #8f4712; fill: #8f4712; }\n"
	"\t.heatmap .l4 { stroke: #b55b18; fill: #b55b18; }\n"
	"\t.heatmap .l5 { stroke: #d87528; fill: #d87528; }\n"
	"\t.heatmap .l6 { stroke: #f09446; fill: #f09446; }\n"
	"\t.heatmap .l7 { stroke: #fbb878; fill: #fbb878; }\n"
	"\t.heatmap .l8 { stroke: #fee2c2; fill: #fee2c2; }\n"
	"}\n"
	"@media print { .heatmap { print-color-adjust: exact; -webkit-print-color-adjust: exact; "
	"max-width: 100%; } }\n";

const char *heatmap_policy_format(char policy[HEATMAP_POLICY_BYTES])
{
	const struct content_part style = { css, css + strlen(css) };
	char source[CONTENT_SOURCE_BYTES];

	(void)snprintf(policy, HEATMAP_POLICY_BYTES,
		"default-src 'none'; style-src %s; base-uri 'none'; form-action 'none'",
		content_source_format(&style, 1, source));
	return policy;
}

struct column {
	uint64_t samples, most;
	size_t most_row;
};

struct picture {
	const struct heatmap *heatmap;
	const char *title;
	struct output *output;
	uint64_t most; /* samples in a cell */
	size_t most_column, most_row;
	double column_px;
};

static struct column column_of(const struct heatmap *heatmap, size_t column)
{
	struct column sum = { 0 };

	for (size_t row = 0; row < HEATMAP_ROWS; row++) {
		const uint64_t count = heatmap_count(heatmap, column, row);

		sum.samples += count;
		if (count > sum.most) {
			sum.most = count;
			sum.most_row = row;
		}
	}
	return sum;
}

static void picture_init(struct picture *picture)
{
	const struct heatmap *heatmap = picture->heatmap;

	for (size_t i = 0; i < heatmap->columns; i++) {
		const struct column column = column_of(heatmap, i);

		if (column.most <= picture->most)
			continue;
		picture->most = column.most;
		picture->most_column = i;
		picture->most_row = column.most_row;
	}
	picture->column_px = heatmap->columns ? (double)WIDTH_PX / (double)heatmap->columns : 1;
	if (picture->column_px > COLUMN_PX_MAX)
		picture->column_px = COLUMN_PX_MAX;
	if (picture->column_px < 1)
		picture->column_px = 1;
}

/* "03:12:07" or, with its row, "03:12:07.240"; local time, as all texts of pictures. */
static const char *format_clock(
	const struct heatmap *heatmap, size_t column, size_t row, char text[CLOCK_BYTES])
{
	const uint64_t ns = heatmap->start_ns + column * heatmap->column_ns +
			    (row < HEATMAP_ROWS ? row * (heatmap->column_ns / HEATMAP_ROWS) : 0);
	const time_t seconds = (time_t)(ns / NSEC_PER_SEC);
	struct tm tm = { 0 };
	size_t used;

	(void)localtime_r(&seconds, &tm);
	used = strftime(text, CLOCK_BYTES, "%H:%M:%S", &tm);
	if (row < HEATMAP_ROWS)
		(void)snprintf(
			text + used, CLOCK_BYTES - used, ".%03u", (unsigned)(ns / 1000000 % 1000));
	return text;
}

static unsigned level_of(const struct picture *picture, size_t column, size_t row)
{
	const uint64_t count = heatmap_count(picture->heatmap, column, row);

	return count == 0 ? 0 : (unsigned)((count * LEVELS + picture->most - 1) / picture->most);
}

/* Adjacent cells of a level are one line. */
static void write_level(const struct picture *picture, size_t column, unsigned level)
{
	bool has_any = false;

	for (size_t row = 0, next; row < HEATMAP_ROWS; row = next) {
		next = row + 1;
		if (level_of(picture, column, row) != level)
			continue;
		while (next < HEATMAP_ROWS && level_of(picture, column, next) == level)
			next++;
		if (!has_any)
			output_printf(picture->output, "<path class=\"l%u\" d=\"", level);
		has_any = true;
		output_printf(picture->output, "M%zu.5 %zuv%zu", column, row, next - row);
	}
	if (has_any)
		output_string(picture->output, "\"/>");
}

static void write_column(const struct picture *picture, size_t i)
{
	const struct heatmap *heatmap = picture->heatmap;
	const struct column column = column_of(heatmap, i);
	char clock[CLOCK_BYTES], most[CLOCK_BYTES], amount[CAPTION_AMOUNT_BYTES],
		most_amount[CAPTION_AMOUNT_BYTES];

	if (column.samples == 0)
		return;
	output_printf(picture->output, "<g><title>%s: %s, most at %s: %s</title>",
		format_clock(heatmap, i, HEATMAP_ROWS, clock),
		caption_samples(heatmap->profile, column.samples, amount),
		format_clock(heatmap, i, column.most_row, most),
		caption_amount(heatmap->profile, column.most, most_amount));
	output_printf(picture->output, "<path class=\"h\" d=\"M%zu.5 0v%d\"/>", i, HEATMAP_ROWS);
	for (unsigned level = 1; level <= LEVELS; level++)
		write_level(picture, i, level);
	output_string(picture->output, "</g>\n");
}

static uint64_t columns_px(const struct picture *picture)
{
	return (uint64_t)(picture->column_px * (double)picture->heatmap->columns + 0.5);
}

static void write_subtitle(const struct picture *picture)
{
	const struct heatmap *heatmap = picture->heatmap;
	const struct store_found *found = &heatmap->found;
	const uint64_t timed = heatmap_samples(heatmap, found->timed_ns);
	const uint64_t untimed = heatmap_samples(heatmap, found->untimed_ns);
	char text[CAPTION_BYTES], amount[CAPTION_AMOUNT_BYTES], share[CAPTION_SHARE_BYTES];

	svg_write_text(picture->output, caption_source(heatmap->profile, text));
	output_string(picture->output, ": ");
	output_string(picture->output, caption_samples(heatmap->profile, timed, amount));
	if (untimed > 0)
		output_printf(picture->output, ", without %s (%s %%) whose times are not known",
			caption_amount(heatmap->profile, untimed, amount),
			caption_share(untimed, timed + untimed, share));
	output_string(picture->output, "; ");
	svg_write_text(picture->output, caption_time(heatmap->profile, text));
}

/* The picture in words. */
static void write_description(const struct picture *picture)
{
	const struct heatmap *heatmap = picture->heatmap;
	char first[CLOCK_BYTES], last[CLOCK_BYTES], most[CLOCK_BYTES], amount[CAPTION_AMOUNT_BYTES];
	char zone[CAPTION_ZONE_BYTES];

	output_string(picture->output, "<desc>");
	write_subtitle(picture);
	if (heatmap->columns > 0)
		output_printf(picture->output,
			". %zu columns of %" PRIu64 " s, from %s to %s %s; each is divided from "
			"bottom to top into %d parts of %" PRIu64 " ms.",
			heatmap->columns, (uint64_t)(heatmap->column_ns / NSEC_PER_SEC),
			format_clock(heatmap, 0, HEATMAP_ROWS, first),
			format_clock(heatmap, heatmap->columns, HEATMAP_ROWS, last),
			caption_zone(heatmap->start_ns, zone), HEATMAP_ROWS,
			(uint64_t)(heatmap->column_ns / HEATMAP_ROWS / 1000000));
	if (picture->most > 0)
		output_printf(picture->output, " The most, %s, are at %s.",
			caption_samples(heatmap->profile, picture->most, amount),
			format_clock(heatmap, picture->most_column, picture->most_row, most));
	output_string(picture->output, "</desc>\n");
}

static void write_axes(const struct picture *picture)
{
	const struct heatmap *heatmap = picture->heatmap;
	const size_t step = (size_t)(LABEL_PX / picture->column_px) + 1;
	const uint64_t row_ms = heatmap->column_ns / HEATMAP_ROWS / 1000000;
	char clock[CLOCK_BYTES];

	for (size_t i = 0; i < heatmap->columns; i += step)
		output_printf(picture->output, "<text x=\"%.1f\" y=\"%d\">%s</text>\n",
			LEFT_PX + (double)i * picture->column_px, TOP_PX + HEIGHT_PX + 18,
			format_clock(heatmap, i, HEATMAP_ROWS, clock));
	for (size_t row = 0; heatmap->columns > 0 && row < HEATMAP_ROWS; row += 10)
		output_printf(picture->output,
			"<text class=\"right\" x=\"%d\" y=\"%zu\">%" PRIu64 " ms</text>\n",
			LEFT_PX - 6, (size_t)(TOP_PX + HEIGHT_PX) - row * ROW_PX, row * row_ms);
}

static void write_legend(const struct picture *picture)
{
	const int y = TOP_PX + HEIGHT_PX + 40;
	char amount[CAPTION_AMOUNT_BYTES], zone[CAPTION_ZONE_BYTES];
	int x = LEFT_PX;

	output_printf(picture->output, "<text x=\"%d\" y=\"%d\">0</text>\n", x, y);
	x += 12;
	for (unsigned level = 1; level <= LEVELS; level++, x += 14)
		output_printf(picture->output,
			"<rect class=\"l%u\" x=\"%d\" y=\"%d\" width=\"14\" height=\"10\"/>\n",
			level, x, y - 9);
	output_printf(picture->output, "<text x=\"%d\" y=\"%d\">%s in %" PRIu64 " ms, %s</text>\n",
		x + 6, y, caption_samples(picture->heatmap->profile, picture->most, amount),
		(uint64_t)(picture->heatmap->column_ns / HEATMAP_ROWS / 1000000),
		caption_zone(picture->heatmap->start_ns, zone));
}

static void write_picture(const struct picture *picture, bool has_style)
{
	const uint64_t wide = columns_px(picture) > 600 ? columns_px(picture) : 600;
	const uint64_t width = LEFT_PX + wide + RIGHT_PX, height = TOP_PX + HEIGHT_PX + FOOT_PX;
	struct output *output = picture->output;

	output_printf(output,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"heatmap\" role=\"img\" "
		"width=\"%" PRIu64 "\" height=\"%" PRIu64 "\" viewBox=\"0 0 %" PRIu64 " %" PRIu64
		"\">\n<title>",
		width, height, width, height);
	svg_write_text(output, picture->title);
	output_string(output, "</title>\n");
	write_description(picture);
	if (has_style)
		output_printf(output, "<style>%s</style>\n", css);
	output_string(output, "<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n"
			      "<text class=\"title\" x=\"16\" y=\"30\">");
	svg_write_text(output, picture->title);
	output_string(output, "</text>\n<text x=\"16\" y=\"50\">");
	write_subtitle(picture);
	output_printf(output,
		"</text>\n<rect class=\"ground\" x=\"%d\" y=\"%d\" width=\"%" PRIu64
		"\" height=\"%d\"/>\n",
		LEFT_PX, TOP_PX, columns_px(picture), HEIGHT_PX);
	output_printf(output, "<g transform=\"translate(%d %d) scale(%.4f -%d)\">\n", LEFT_PX,
		TOP_PX + HEIGHT_PX, picture->column_px, ROW_PX);
	for (size_t i = 0; i < picture->heatmap->columns; i++)
		write_column(picture, i);
	output_string(output, "</g>\n");
	write_axes(picture);
	write_legend(picture);
	output_string(output, "</svg>\n");
}

void heatmap_svg_write(const struct heatmap *heatmap, const char *title, struct output *output)
{
	struct picture picture = { .heatmap = heatmap, .title = title, .output = output };

	picture_init(&picture);
	output_string(output, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
	write_picture(&picture, true);
}

/* --- the page --- */

/* The least that a column needs in one cell to be in the table, so that it has TABLE_ROWS. */
static uint64_t table_least(const struct heatmap *heatmap)
{
	uint64_t most[TABLE_ROWS] = { 0 };

	for (size_t i = 0; i < heatmap->columns; i++) {
		uint64_t value = column_of(heatmap, i).most;

		for (size_t j = 0; j < TABLE_ROWS; j++)
			if (value > most[j]) {
				const uint64_t less = most[j];

				most[j] = value;
				value = less;
			}
	}
	return most[TABLE_ROWS - 1];
}

static void write_table(const struct picture *picture)
{
	const struct heatmap *heatmap = picture->heatmap;
	const uint64_t least = table_least(heatmap);
	char zone[CAPTION_ZONE_BYTES];
	size_t rows = 0;

	output_printf(picture->output,
		"<table><caption>The columns with the most in a part</caption>\n"
		"<tr><th>begins (%s)</th><th>all</th><th>most in a part</th><th>at</th></tr>\n",
		caption_zone(heatmap->start_ns, zone));
	for (size_t i = 0; i < heatmap->columns && rows < TABLE_ROWS; i++) {
		const struct column column = column_of(heatmap, i);
		char clock[CLOCK_BYTES], most[CLOCK_BYTES], all[CAPTION_AMOUNT_BYTES],
			amount[CAPTION_AMOUNT_BYTES];

		if (column.most == 0 || column.most < least)
			continue;
		rows++;
		output_printf(picture->output,
			"<tr><td>%s</td><td>%s</td><td>%s</td><td>%s</td></tr>\n",
			format_clock(heatmap, i, HEATMAP_ROWS, clock),
			caption_amount(heatmap->profile, column.samples, all),
			caption_amount(heatmap->profile, column.most, amount),
			format_clock(heatmap, i, column.most_row, most));
	}
	output_string(picture->output, "</table>\n");
}

void heatmap_html_write(const struct heatmap *heatmap, const char *title, struct output *output)
{
	struct picture picture = { .heatmap = heatmap, .title = title, .output = output };
	char policy[HEATMAP_POLICY_BYTES];

	picture_init(&picture);
	output_printf(output,
		"<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
		"<meta http-equiv=\"Content-Security-Policy\" content=\"%s\">\n"
		"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
		"<meta name=\"referrer\" content=\"no-referrer\">\n<title>",
		heatmap_policy_format(policy));
	svg_write_text(output, title);
	output_printf(output,
		"</title>\n<style>%s</style>\n</head>\n<body class=\"heatmap-page\">\n<div>\n",
		css);
	write_picture(&picture, false);
	output_string(output, "</div>\n");
	write_table(&picture);
	output_string(output, "</body>\n</html>\n");
}
