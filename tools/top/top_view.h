/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The state of `pilotlight top`'s display, and how keys change it. It does not depend on a
 * terminal. The selected row stays selected when a new profile arrives. One thread.
 */
#pragma once

#include "tools/top/top_rows.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TOP_FILTER_BYTES = 64 };

/* Keys that are not characters. A character key is its Unicode code point. */
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
	TOP_ACTION_NONE, /* redraw */
	TOP_ACTION_ASK,	 /* query a new profile now */
	TOP_ACTION_QUIT,
};

struct top_view {
	enum top_mode mode;
	bool sorts_by_total[TOP_MODE_COUNT]; /* by mode */
	bool is_paused, shows_help;
	bool is_typing;		       /* the filter */
	char filter[TOP_FILTER_BYTES]; /* UTF-8 */
	size_t filter_size;
	uint64_t span_ns; /* the time that queries cover */
	struct top_open open;
	struct top_rows rows;
	size_t selected, first; /* rows; `first` is the topmost visible one */
	size_t height;		/* visible rows, at least 1 */
	const char *note;	/* about the last key; "": none. A literal */
};

void top_view_init(struct top_view *view, uint64_t span_ns);
void top_view_done(struct top_view *view);

/* Lists the rows of `profile` (NULL: none). Returns 0 or -ENOMEM. */
int top_view_update(struct top_view *view, const struct top_profile *profile);

/* Sets the number of visible rows. */
void top_view_resize(struct top_view *view, size_t height);

/* Handles a key. Returns 0 with the action for the caller, or -ENOMEM. */
int top_view_press(struct top_view *view, const struct top_profile *profile, uint32_t key,
	enum top_action *ret_action);
