/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/top/top_screen.h"

#include "base/array.h"
#include "tools/top/top_canvas.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	LINE_TITLE,
	LINE_MACHINE,
	LINE_MODE,
	LINE_HEAD,
	LINE_ROWS,
	LINES_BELOW = 1,
	NARROW_COLUMNS = 60,
	WIDE_COLUMNS = 110,
	BAR_COLUMNS = 20,
	INDENT_DEPTH_MAX = 64,
	ESCAPE_TIMEOUT_MS = 25,
};

struct top_screen {
	SCREEN *screen;
	struct top_canvas canvas;
};

int top_screen_new(struct top_screen **ret_screen)
{
	_cleanup_(top_screen_freep) struct top_screen *screen = calloc(1, sizeof(*screen));

	if (!screen)
		return -ENOMEM;
	top_canvas_set_locale(&screen->canvas);
	screen->screen = newterm(NULL, stdout, stdin);
	if (!screen->screen)
		return -ENOTTY;
	(void)set_term(screen->screen);
	(void)cbreak();
	(void)noecho();
	(void)nonl();
	(void)intrflush(stdscr, FALSE);
	(void)keypad(stdscr, TRUE);
	(void)nodelay(stdscr, TRUE);
	(void)set_escdelay(ESCAPE_TIMEOUT_MS);
	(void)curs_set(0);
	top_canvas_start_colours(&screen->canvas);
	*ret_screen = TAKE_PTR(screen);
	return 0;
}

void top_screen_free(struct top_screen *screen)
{
	if (!screen)
		return;
	if (screen->screen) {
		(void)endwin();
		delscreen(screen->screen);
	}
	free(screen);
}

size_t top_screen_rows(void)
{
	int lines = getmaxy(stdscr) - LINE_ROWS - LINES_BELOW;

	return lines > 1 ? (size_t)lines : 1;
}

static void draw_title(const struct top_canvas *canvas, const struct top_picture *picture)
{
	char line[TOP_TEXT_BYTES];
	const char *state = picture->view->is_paused ? "PAUSED" : "";
	int width = getmaxx(stdscr);

	top_canvas_look(canvas, TOP_COLOUR_TITLE, A_REVERSE | A_BOLD);
	top_canvas_fill(top_canvas_put_at(canvas, LINE_TITLE, 0,
		picture->answer ? top_text_title(picture->answer, line) : "pilotlight top"));
	if (*state && width > 20)
		(void)top_canvas_put_at(canvas, LINE_TITLE, width - (int)strlen(state) - 1, state);
	top_canvas_look(canvas, TOP_COLOUR_PLAIN, A_NORMAL);
	if (picture->answer)
		(void)top_canvas_put_at(
			canvas, LINE_MACHINE, 0, top_text_machine(picture->answer, line));
}

/* Behind the modes: the note about the last key, or the filter. */
static void draw_filter(const struct top_canvas *canvas, const struct top_view *view, int column)
{
	if (*view->note) {
		(void)top_canvas_put_at(canvas, LINE_MODE, column, view->note);
		return;
	}
	if (!view->is_typing && !*view->filter)
		return;
	top_canvas_look(canvas, TOP_COLOUR_PLAIN, A_BOLD);
	column += top_canvas_put_at(canvas, LINE_MODE, column, "/");
	column += top_canvas_put_at(canvas, LINE_MODE, column, view->filter);
	top_canvas_look(canvas, TOP_COLOUR_PLAIN, A_REVERSE);
	(void)top_canvas_put_at(canvas, LINE_MODE, column, view->is_typing ? " " : "");
}

static void draw_mode(const struct top_canvas *canvas, const struct top_picture *picture)
{
	static const char *const names[] = { "functions", "processes", "tree" };
	const struct top_view *view = picture->view;
	int column = 0;

	/* Without rows, draw_rows() shows the complaint in their place. */
	if (*picture->complaint && view->rows.count > 0) {
		top_canvas_look(canvas, TOP_COLOUR_WRONG, A_BOLD);
		(void)top_canvas_put_at(canvas, LINE_MODE, 0, picture->complaint);
		top_canvas_look(canvas, TOP_COLOUR_PLAIN, A_NORMAL);
		return;
	}
	for (enum top_mode mode = TOP_FUNCTIONS; mode < TOP_MODE_COUNT; mode++) {
		top_canvas_look(canvas, TOP_COLOUR_PLAIN,
			mode == view->mode ? A_BOLD | A_UNDERLINE : A_DIM);
		column += top_canvas_put_at(canvas, LINE_MODE, column, names[mode]) + 1;
	}
	top_canvas_look(canvas, TOP_COLOUR_PLAIN, A_NORMAL);
	column += top_canvas_put_at(canvas, LINE_MODE, column,
			  view->sorts_by_total[view->mode] ? " by total" : " by self") +
		  2;
	draw_filter(canvas, view, column);
	top_canvas_look(canvas, TOP_COLOUR_PLAIN, A_NORMAL);
}

static enum top_colour colour_of(enum folded_kind kind)
{
	static const enum top_colour colours[] = {
		[FOLDED_PROGRAM] = TOP_COLOUR_PLAIN,
		[FOLDED_KERNEL] = TOP_COLOUR_KERNEL,
		[FOLDED_JIT] = TOP_COLOUR_JIT,
		[FOLDED_INLINED] = TOP_COLOUR_INLINED,
		[FOLDED_PYTHON] = TOP_COLOUR_PYTHON,
		[FOLDED_NAMELESS] = TOP_COLOUR_PLAIN,
	};

	return colours[kind];
}

static bool is_narrow(void)
{
	return getmaxx(stdscr) < NARROW_COLUMNS;
}

/* Draws on wide screens where a function is. Returns the number of columns drawn. */
static int draw_origin(const struct top_canvas *canvas, const struct top_profile *profile,
	const struct top_function *function)
{
	char origin[TOP_TEXT_ORIGIN_BYTES];
	const char *text = top_text_origin(profile, function, origin);

	return getmaxx(stdscr) < WIDE_COLUMNS
		       ? 0
		       : top_canvas_put(canvas, text, strlen(text), WIDE_COLUMNS);
}

/* Draws the share as a bar on wide screens. Returns the number of columns drawn. */
static int draw_bar(const struct top_canvas *canvas, const struct top_picture *picture,
	const struct top_row *row, attr_t attributes)
{
	uint64_t samples = picture->answer->profile->samples;
	int length;

	if (getmaxx(stdscr) < WIDE_COLUMNS)
		return 0;
	length = samples > 0 ? (int)((double)row->total / (double)samples * BAR_COLUMNS + 0.5) : 0;
	top_canvas_look(canvas, TOP_COLOUR_BAR, attributes);
	for (int i = 0; i < BAR_COLUMNS; i++)
		(void)addch(i < length ? '|' : ' ');
	top_canvas_look(canvas, TOP_COLOUR_PLAIN, attributes);
	(void)addch(' ');
	return BAR_COLUMNS + 1;
}

/* Draws the indentation of a name and the sign before it. Returns the number of columns drawn. */
static int draw_branch(const struct top_canvas *canvas, const struct top_row *row, int width)
{
	const char *closed = canvas->is_utf8 ? "▸ " : "+ ";
	const char *open = canvas->is_utf8 ? "▾ " : "- ";
	const char *sign = !row->has_callees ? "  " : row->is_open ? open : closed;
	int indent = (int)(row->depth < INDENT_DEPTH_MAX ? row->depth : INDENT_DEPTH_MAX);

	/* Half the width is reserved for the name. */
	if (indent > width / 2)
		indent = width / 2;
	for (int i = 0; i < indent; i++)
		(void)addch(' ');
	return indent + top_canvas_put(canvas, sign, strlen(sign), width - indent);
}

static void draw_row(
	const struct top_canvas *canvas, const struct top_picture *picture, size_t number, int line)
{
	const struct top_view *view = picture->view;
	const struct top_profile *profile = picture->answer->profile;
	const struct top_row *row = &view->rows.items[number];
	attr_t attributes = number == view->selected ? A_REVERSE : A_NORMAL;
	char columns[TOP_TEXT_COLUMNS_BYTES];
	int taken, width = getmaxx(stdscr);
	enum folded_kind kind;
	const char *name;
	size_t size;

	top_canvas_look(canvas, TOP_COLOUR_PLAIN, attributes);
	taken = top_canvas_put_at(canvas, line, 0,
		top_text_columns(picture->answer, row, view->mode, is_narrow(), columns));
	if (view->mode == TOP_FUNCTIONS)
		taken += draw_origin(canvas, profile, &profile->functions[row->function]);
	else
		taken += draw_bar(canvas, picture, row, attributes);
	if (view->mode == TOP_TREE)
		taken += draw_branch(canvas, row, width - taken);
	name = top_profile_name(profile, row->name, &size, &kind);
	top_canvas_look(canvas, colour_of(kind),
		attributes | (kind == FOLDED_NAMELESS && !(attributes & A_REVERSE) ? A_DIM : 0));
	taken += top_canvas_put(canvas, size > 0 ? name : "?", size > 0 ? size : 1, width - taken);
	top_canvas_look(canvas, TOP_COLOUR_PLAIN, attributes);
	if (attributes & A_REVERSE)
		top_canvas_fill(taken);
	top_canvas_look(canvas, TOP_COLOUR_PLAIN, A_NORMAL);
}

static void draw_head(const struct top_canvas *canvas, const struct top_picture *picture)
{
	char columns[TOP_TEXT_COLUMNS_BYTES];
	enum top_mode mode = picture->view->mode;
	int taken;

	top_canvas_look(canvas, TOP_COLOUR_PLAIN, A_REVERSE);
	taken = top_canvas_put_at(
		canvas, LINE_HEAD, 0, top_text_head(picture->answer, mode, is_narrow(), columns));
	if (mode == TOP_FUNCTIONS && picture->answer)
		taken += draw_origin(canvas, picture->answer->profile, NULL);
	for (int i = 0;
		mode != TOP_FUNCTIONS && i < BAR_COLUMNS + 1 && getmaxx(stdscr) >= WIDE_COLUMNS;
		i++, taken++)
		(void)addch(' ');
	taken += top_canvas_put_at(canvas, LINE_HEAD, taken, top_text_name_head(mode));
	top_canvas_fill(taken);
	top_canvas_look(canvas, TOP_COLOUR_PLAIN, A_NORMAL);
}

/* Draws a text of any length in the lines for rows. */
static void draw_paragraph(const struct top_canvas *canvas, const char *text)
{
	int width = getmaxx(stdscr);
	size_t size = strlen(text);

	for (int line = LINE_ROWS; line < getmaxy(stdscr) - LINES_BELOW && size > 0; line++) {
		size_t part = size <= (size_t)width ? size : (size_t)width;

		/* Break at a space if there is one, never within a character. */
		if (part < size) {
			const char *space = memrchr(text, ' ', part);

			if (space && space > text)
				part = (size_t)(space - text);
			while (part > 1 && ((unsigned char)text[part] & 0xc0) == 0x80)
				part--;
		}
		if (move(line, 0) != ERR)
			(void)top_canvas_put(canvas, text, part, width);
		while (part < size && text[part] == ' ')
			part++;
		text += part;
		size -= part;
	}
}

static void draw_rows(const struct top_canvas *canvas, const struct top_picture *picture)
{
	const struct top_view *view = picture->view;
	size_t room = top_screen_rows();

	for (size_t i = 0; i < room && view->first + i < view->rows.count; i++)
		if (LINE_ROWS + (int)i < getmaxy(stdscr))
			draw_row(canvas, picture, view->first + i, LINE_ROWS + (int)i);
	if (view->rows.count > 0)
		return;
	if (*picture->complaint)
		draw_paragraph(canvas, picture->complaint);
	else if (*view->filter)
		draw_paragraph(canvas, "No name matches the filter; Esc shows all.");
	else if (picture->answer)
		draw_paragraph(canvas, "Nothing was sampled in this time.");
}

static void draw_help(const struct top_canvas *canvas)
{
	static const char *const lines[] = {
		"f p t     functions, processes (by name of the thread), tree of calls",
		"s         sort by samples of its own (self) or with callees (total)",
		"/         show only what has these letters; Enter keeps, Esc ends",
		"up down   or k j, PageUp, PageDown, Home, End: select",
		"right     open, or Enter; of a process: its tree",
		"left      close, or go to the caller",
		"e c       open the hottest callees; close all",
		"+ -       more or less time: 10s, 30s, 1min, 5min",
		"space     pause",
		"q         end",
		"",
		"kernel    in this colour; so are",
		"jit       code that was generated while running, and",
		"inlined   functions that were inlined into their callers",
		"python    functions that an interpreter runs",
	};
	static const enum top_colour colours[ARRAY_SIZE(lines)] = {
		[11] = TOP_COLOUR_KERNEL,
		[12] = TOP_COLOUR_JIT,
		[13] = TOP_COLOUR_INLINED,
		[14] = TOP_COLOUR_PYTHON,
	};

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		if (LINE_ROWS + (int)i >= getmaxy(stdscr) - LINES_BELOW)
			return;
		top_canvas_look(canvas, colours[i], A_NORMAL);
		(void)top_canvas_put_at(canvas, LINE_ROWS + (int)i, 1, lines[i]);
	}
	top_canvas_look(canvas, TOP_COLOUR_PLAIN, A_NORMAL);
}

static void draw_keys(const struct top_canvas *canvas, const struct top_view *view)
{
	static const char keys[] = "q quit  ? help  f functions  p processes  t tree  s sort  "
				   "/ filter  space pause  +/- time";
	int line = getmaxy(stdscr) - 1;

	if (line <= LINE_ROWS)
		return;
	top_canvas_look(canvas, TOP_COLOUR_PLAIN, A_DIM);
	(void)top_canvas_put_at(canvas, line, 0, view->is_typing ? "Enter keeps, Esc ends" : keys);
	top_canvas_look(canvas, TOP_COLOUR_PLAIN, A_NORMAL);
}

void top_screen_draw(struct top_screen *screen, const struct top_picture *picture)
{
	const struct top_canvas *canvas = &screen->canvas;

	(void)erase();
	draw_title(canvas, picture);
	draw_mode(canvas, picture);
	draw_head(canvas, picture);
	if (picture->view->shows_help)
		draw_help(canvas);
	else
		draw_rows(canvas, picture);
	draw_keys(canvas, picture->view);
	(void)refresh();
}

static uint32_t special_key(wint_t key)
{
	static const struct {
		wint_t theirs;
		enum top_key ours;
	} keys[] = {
		{ KEY_UP, TOP_KEY_UP },
		{ KEY_DOWN, TOP_KEY_DOWN },
		{ KEY_LEFT, TOP_KEY_LEFT },
		{ KEY_RIGHT, TOP_KEY_RIGHT },
		{ KEY_PPAGE, TOP_KEY_PAGE_UP },
		{ KEY_NPAGE, TOP_KEY_PAGE_DOWN },
		{ KEY_HOME, TOP_KEY_HOME },
		{ KEY_END, TOP_KEY_END },
		{ KEY_ENTER, TOP_KEY_ENTER },
		{ KEY_BACKSPACE, TOP_KEY_BACKSPACE },
	};

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (keys[i].theirs == key)
			return keys[i].ours;
	return 0;
}

bool top_screen_key(uint32_t *ret_key)
{
	wint_t key;

	switch (get_wch(&key)) {
	case KEY_CODE_YES:
		*ret_key = special_key(key);
		return true;
	case OK:
		break;
	default:
		return false;
	}
	switch (key) {
	case '\r':
	case '\n':
		*ret_key = TOP_KEY_ENTER;
		break;
	case '\b':
	case 0x7f:
		*ret_key = TOP_KEY_BACKSPACE;
		break;
	case 0x1b:
		*ret_key = TOP_KEY_ESCAPE;
		break;
	case 'L' & 0x1f:
		(void)clearok(curscr, TRUE);
		*ret_key = 0;
		break;
	default:
		*ret_key = (uint32_t)key;
		break;
	}
	return true;
}
