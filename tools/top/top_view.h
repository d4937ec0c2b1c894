/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What one sees of `pilotlight top`, and what the keys do to it; it knows no terminal. The row that
 * is selected stays so while profiles come and go. One thread.
 */
#pragma once

#include "tools/top/top_rows.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TOP_FILTER_BYTES = 64 };

/* What is no character; characters are their numbers in Unicode. */
enum top_key {
	TOP_KEY_UP = 0x110000,
	TOP_KEY_DOWN,
	TOP_KEY_LEFT,
	TOP_KEY_RIGHT,
	TOP_KEY_PAGE_UP,
	TOP_KEY_PAGE_DOWN,
	TOP_KEY_HOME,
	TOP_KEY_END,
	TOP_KEY_ENTER,
	TOP_KEY_BACKSPACE,
	TOP_KEY_ESCAPE,
};

enum top_action {
	TOP_ACTION_NONE, /* there may be something to draw */
	TOP_ACTION_ASK,	 /* for another profile, now */
	TOP_ACTION_QUIT,
};

struct top_view {
	enum top_mode mode;
	bool sorts_by_total[TOP_MODE_COUNT]; /* by mode */
	bool is_paused, shows_help;
	bool is_typing;		       /* a filter */
	char filter[TOP_FILTER_BYTES]; /* UTF-8 */
	size_t filter_size;
	uint64_t span_ns; /* of the profile that is asked for */
	struct top_open open;
	struct top_rows rows;
	size_t selected, first; /* rows; the latter is the one at the top */
	size_t height;		/* rows that there is room for, 1 at least */
	const char *note;	/* about the last key; "": nothing. A literal */
};

void top_view_init(struct top_view *view, uint64_t span_ns);
void top_view_done(struct top_view *view);

/* Lists `profile` (NULL: there is none) anew. Returns 0 or -ENOMEM. */
int top_view_update(struct top_view *view, const struct top_profile *profile);

/* The room for rows has changed. */
void top_view_resize(struct top_view *view, size_t height);

/* Returns 0 with what is to be done, or -ENOMEM. */
int top_view_press(struct top_view *view, const struct top_profile *profile, uint32_t key,
	enum top_action *ret_action);
