/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Text on the screen of ncurses: anybody's (I8), in so many columns, in a colour where the terminal
 * has colours and nobody minds ($NO_COLOR). Where the locale has no UTF-8 there is ASCII alone.
 */
#pragma once

/* Its macros have the names of ordinary things. */
#define NCURSES_NOMACROS 1
#define NCURSES_WIDECHAR 1
#include <curses.h>

#include <stdbool.h>
#include <stddef.h>

/* Numbers of colour pairs. */
enum top_colour {
	TOP_COLOUR_PLAIN,
	TOP_COLOUR_KERNEL,
	TOP_COLOUR_JIT,
	TOP_COLOUR_INLINED,
	TOP_COLOUR_BAR,
	TOP_COLOUR_WRONG,
	TOP_COLOUR_TITLE,
	TOP_COLOUR_COUNT,
};

struct top_canvas {
	bool has_colours;
	bool is_utf8;
};

/* Before the screen is made: ncurses has to know the locale. */
void top_canvas_set_locale(struct top_canvas *canvas);
/* Once it is. */
void top_canvas_start_colours(struct top_canvas *canvas);

/* For what is drawn from now on. */
void top_canvas_look(const struct top_canvas *canvas, enum top_colour colour, attr_t attributes);

/*
 * Draws at the cursor, in `width` columns at most, with an ellipsis where the text is longer.
 * Returns the columns that it has taken.
 */
int top_canvas_put(const struct top_canvas *canvas, const char *bytes, size_t size, int width);
/* On a line, from `column` to the right edge. */
int top_canvas_put_at(const struct top_canvas *canvas, int line, int column, const char *text);
/* With spaces, from column `from` to the right edge, at the cursor. */
void top_canvas_fill(int from);
