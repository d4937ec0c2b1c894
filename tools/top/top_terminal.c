/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/top/top_terminal.h"

#include <stdio.h>
#include <unistd.h>

/* These headers define macros such as `columns` and `lines`, so only this file includes term.h. */
#define NCURSES_NOMACROS 1
#include <curses.h>
#include <term.h>

bool top_terminal_can_draw(void)
{
	bool can_draw;
	int error;

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return false;
	if (setupterm(NULL, STDOUT_FILENO, &error) != OK)
		return false;
	can_draw = cursor_address && clear_screen;
	(void)del_curterm(cur_term);
	return can_draw;
}
