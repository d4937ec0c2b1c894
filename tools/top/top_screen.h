/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The screen of `pilotlight top` (ncurses). Freeing it restores the terminal. One at a time; one
 * thread.
 */
#pragma once

#include "base/cleanup.h"
#include "tools/top/top_feed.h"
#include "tools/top/top_text.h"
#include "tools/top/top_view.h"

#include <stdbool.h>
#include <stdint.h>

struct top_screen;

/* The content of the screen; all of it borrowed. */
struct top_picture {
	const struct top_view *view;
	const struct top_answer *answer; /* the last one with a profile; NULL: none yet */
	const char *complaint;		 /* why a later query failed; "": it did not */
};

/* Returns 0, -ENOMEM, or -ENOTTY. Call it only if top_terminal_can_draw(). */
int top_screen_new(struct top_screen **ret_screen);
void top_screen_free(struct top_screen *screen);
DEFINE_CLEANUP(struct top_screen, top_screen_free);

/* The number of lines for rows of the screen that exists. */
size_t top_screen_rows(void);

void top_screen_draw(struct top_screen *screen, const struct top_picture *picture);

/* Reads a key (top_view.h); 0 only redraws. False: there is none. */
bool top_screen_key(uint32_t *ret_key);
