/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes the page around the frames of a flame graph: heading, legend, notes, style and script. The
 * `look` provides the parts that depend on the kind of flame graph.
 */
#pragma once

#include "render/flamegraph_frames.h"

struct flamegraph_page;

struct flamegraph_look {
	const char *css;		      /* beyond flamegraph.css; no '<' or '&' */
	const struct flamegraph_style *style; /* of the frames; NULL: by kind */
	unsigned note_count;		      /* lines that write_notes() needs */
	const void *context;
	/* The text of the line below the title, without its element. */
	void (*write_subtitle)(const struct flamegraph_page *page);
	/* Writes one line with baseline y; returns where it ends. */
	uint64_t (*write_legend)(const struct flamegraph_page *page, uint64_t y);
	/* Lines below the legend, the first at y, and data for the script; may be NULL. */
	void (*write_notes)(const struct flamegraph_page *page, uint64_t y);
};

struct flamegraph_page {
	const struct profile *profile; /* of the frames that are drawn */
	const struct frame_tree *tree;
	const struct flamegraph_cut *cut; /* of the tree: what is drawn */
	const struct flamegraph_look *look;
	const char *title; /* clean UTF-8 */
	struct output *output;
};

enum { FLAMEGRAPH_NOTE_PX = 20 };

/*
 * Writes a small square of the class and a text behind it at (x, y). Returns the x of the next one.
 */
uint64_t flamegraph_page_write_swatch(
	struct output *output, uint64_t x, uint64_t y, const char *class, const char *text);

/* Returns 0 or -ENOMEM. */
int flamegraph_page_write(const struct flamegraph_page *page);
