/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The terminal that `pilotlight top` draws on (ncurses). It is given back as it was when the screen
 * is freed. One at a time; one thread.
 */
#pragma once

#include "base/cleanup.h"
#include "tools/top/top_feed.h"
#include "tools/top/top_text.h"
#include "tools/top/top_view.h"

#include <stdbool.h>
#include <stdint.h>

struct top_screen;

/* What is drawn; all of it borrowed. */
struct top_picture {
	const struct top_view *view;
	const struct top_answer *answer; /* the last that had a profile; NULL: none as yet */
	const char *complaint;		 /* about what came since; "": nothing */
};

/* Returns 0, -ENOMEM, or -ENOTTY where there is none that can be drawn on (top_terminal.h). */
int top_screen_new(struct top_screen **ret_screen);
void top_screen_free(struct top_screen *screen);
DEFINE_CLEANUP(struct top_screen, top_screen_free);

/* The lines that there are for rows now. */
size_t top_screen_rows(const struct top_screen *screen);

void top_screen_draw(struct top_screen *screen, const struct top_picture *picture);

/* The next key (top_view.h), 0 for one that means nothing but to draw again. False: none waits. */
bool top_screen_key(struct top_screen *screen, uint32_t *ret_key);
