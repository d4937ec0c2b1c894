/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Draws text with ncurses. The text is hostile (I8); it is cut to a number of columns. Colours are
 * used if the terminal has them and $NO_COLOR is not set. Without a UTF-8 locale only ASCII is
 * drawn.
 */
#pragma once

/* Without this, curses.h defines macros such as `move` and `clear`. */
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
	TOP_COLOUR_PYTHON,
	TOP_COLOUR_BAR,
	TOP_COLOUR_WRONG,
	TOP_COLOUR_TITLE,
	TOP_COLOUR_COUNT,
};

struct top_canvas {
	bool has_colours;
	bool is_utf8;
};

/* Call this before the screen is created: ncurses needs the locale. */
void top_canvas_set_locale(struct top_canvas *canvas);
/* Call this after the screen is created. */
void top_canvas_start_colours(struct top_canvas *canvas);

/* Sets the colour and attributes of everything that is drawn next. */
void top_canvas_look(const struct top_canvas *canvas, enum top_colour colour, attr_t attributes);

/*
 * Draws at the cursor, in at most `width` columns, with an ellipsis if the text is longer. Returns
 * the number of columns drawn.
 */
int top_canvas_put(const struct top_canvas *canvas, const char *bytes, size_t size, int width);
/* Draws on a line, from `column` to at most the right edge. Returns the number of columns drawn. */
int top_canvas_put_at(const struct top_canvas *canvas, int line, int column, const char *text);
/* Draws spaces at the cursor, which is in column `from`, up to the right edge. */
void top_canvas_fill(int from);
