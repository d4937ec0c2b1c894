/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "render/flamegraph_svg.h"

#include "base/array.h"
#include "base/utf8.h"
#include "render/caption.h"
#include "render/flamegraph_page.h"
#include "render/svg_text.h"

#include <errno.h>
#include <string.h>

static void write_subtitle(const struct flamegraph_page *page)
{
	struct output *output = page->output;
	char text[CAPTION_BYTES], amount[CAPTION_AMOUNT_BYTES];
	uint64_t lost = accounts_lost(&page->profile->accounts);
	uint64_t stored = page->tree->frames[0].total - lost;

	svg_write_text(output, caption_source(page->profile, text));
	output_printf(output, " \xc2\xb7 %s", caption_samples(page->profile, stored, amount));
	if (lost > 0)
		output_printf(output, ", %s lost", caption_amount(page->profile, lost, amount));
	if (*caption_time(page->profile, text)) {
		output_string(output, " \xc2\xb7 ");
		svg_write_text(output, text);
	}
}

struct legend_entry {
	enum frame_kind kind;
	const char *class;
};

/* The kinds that occur, in the order in which stacks usually pass through them. */
static uint64_t write_legend(const struct flamegraph_page *page, uint64_t y)
{
	static const struct legend_entry entries[] = {
		{ FRAME_COMM, "c1" },
		{ FRAME_EXECUTABLE, "x1" },
		{ FRAME_LIBRARY, "l1" },
		{ FRAME_INLINED, "i1" },
		{ FRAME_PYTHON, "t1" },
		{ FRAME_JAVASCRIPT, "v1" },
		{ FRAME_RUBY, "y1" },
		{ FRAME_PHP, "h1" },
		{ FRAME_PERL, "q1" },
		{ FRAME_JAVA, "j1" },
		{ FRAME_JIT, "j1" },
		{ FRAME_KERNEL, "k1" },
		{ FRAME_SYNTHETIC, "s1" },
	};
	bool present[FRAME_KIND_COUNT] = { false };
	uint64_t x = FLAMEGRAPH_MARGIN_PX;

	for (size_t i = 0; i < page->tree->count; i++)
		present[page->tree->labels->items[page->tree->frames[i].label].kind] = true;
	for (size_t i = 0; i < ARRAY_SIZE(entries); i++)
		if (present[entries[i].kind])
			x = flamegraph_page_write_swatch(page->output, x, y, entries[i].class,
				frame_kind_name(entries[i].kind));
	return x;
}

int flamegraph_svg_write(const struct profile *profile, const char *title, enum frame_detail detail,
	struct output *output)
{
	static const struct flamegraph_look look = {
		.css = "",
		.write_subtitle = write_subtitle,
		.write_legend = write_legend,
	};
	_cleanup_(frame_tree_freep) struct frame_tree *tree = NULL;
	char clean[UTF8_CLEAN_BYTES];
	struct flamegraph_cut cut;
	struct flamegraph_page page = {
		.profile = profile,
		.look = &look,
		.title = clean,
		.output = output,
	};
	int r;

	if (!title)
		title = "Flame graph";
	(void)utf8_clean(clean, title, strlen(title));
	r = frame_tree_new_within(profile, detail, &flamegraph_budget, &tree);
	if (r < 0)
		return r;
	r = flamegraph_cut_init(&cut, tree, flamegraph_minimum(tree->frames[0].total),
		flamegraph_row_minimum(tree->frames[0].total));
	if (r < 0)
		return r;
	page.tree = tree;
	page.cut = &cut;
	return flamegraph_page_write(&page);
}
