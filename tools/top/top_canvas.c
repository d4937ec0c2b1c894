/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/top/top_canvas.h"

#include "base/utf8.h"

#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

enum { CELLS_MAX = 1024 };

static bool is_utf8_locale(void)
{
	return setlocale(LC_CTYPE, "") && strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

static bool start_colours(void)
{
	static const short colours[TOP_COLOUR_COUNT] = {
		[TOP_COLOUR_KERNEL] = COLOR_YELLOW,
		[TOP_COLOUR_JIT] = COLOR_GREEN,
		[TOP_COLOUR_INLINED] = COLOR_CYAN,
		[TOP_COLOUR_PYTHON] = COLOR_MAGENTA,
		[TOP_COLOUR_BAR] = COLOR_RED,
		[TOP_COLOUR_WRONG] = COLOR_RED,
		[TOP_COLOUR_TITLE] = COLOR_BLUE,
	};
	const char *wish = getenv("NO_COLOR");

	if ((wish && *wish) || !has_colors() || start_color() == ERR || COLORS < 8 ||
		COLOR_PAIRS < TOP_COLOUR_COUNT)
		return false;
	(void)use_default_colors();
	for (int i = TOP_COLOUR_PLAIN + 1; i < TOP_COLOUR_COUNT; i++)
		(void)init_pair((short)i, colours[i], -1);
	return true;
}

void top_canvas_set_locale(struct top_canvas *canvas)
{
	canvas->is_utf8 = is_utf8_locale();
}

void top_canvas_start_colours(struct top_canvas *canvas)
{
	canvas->has_colours = start_colours();
}

void top_canvas_look(const struct top_canvas *canvas, enum top_colour colour, attr_t attributes)
{
	(void)attr_set(attributes, canvas->has_colours ? (short)colour : 0, NULL);
}

/* A character that is safe to draw (I8), or 0 for one without a width of its own. */
static wchar_t drawable(const struct top_canvas *canvas, const char *bytes, size_t length)
{
	static const unsigned char leads[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
	wchar_t c = (unsigned char)bytes[0] & leads[length];

	for (size_t i = 1; i < length; i++)
		c = c << 6 | ((unsigned char)bytes[i] & 0x3f);
	if (length > 1 && !canvas->is_utf8)
		return L'?';
	if (length == 0 || wcwidth(c) < 0)
		return canvas->is_utf8 ? 0xfffd : L'?';
	return wcwidth(c) == 0 ? 0 : c;
}

int top_canvas_put(const struct top_canvas *canvas, const char *bytes, size_t size, int width)
{
	wchar_t cells[CELLS_MAX];
	const char *end = bytes + size;
	int count = 0, taken = 0, fitting = 0, fitting_width = 0;
	bool is_cut = false;

	while (bytes < end && count < CELLS_MAX - 1 && !is_cut) {
		size_t length = utf8_sequence(bytes, (size_t)(end - bytes));
		wchar_t c = drawable(canvas, bytes, utf8_shown(bytes, (size_t)(end - bytes)));
		int columns = c ? wcwidth(c) : 0;

		bytes += length > 0 ? length : 1;
		if (!c)
			continue;
		is_cut = taken + columns > width;
		if (is_cut)
			break;
		cells[count++] = c;
		taken += columns;
		if (taken < width) {
			fitting = count;
			fitting_width = taken;
		}
	}
	if (is_cut && width > 0) {
		count = fitting;
		cells[count++] = canvas->is_utf8 ? L'…' : L'.';
		taken = fitting_width + 1;
	}
	(void)addnwstr(cells, count);
	return taken;
}

int top_canvas_put_at(const struct top_canvas *canvas, int line, int column, const char *text)
{
	int width = getmaxx(stdscr) - column;

	if (line >= getmaxy(stdscr) || width <= 0 || move(line, column) == ERR)
		return 0;
	return top_canvas_put(canvas, text, strlen(text), width);
}

void top_canvas_fill(int from)
{
	for (int i = from; i < getmaxx(stdscr); i++)
		(void)addch(' ');
}
