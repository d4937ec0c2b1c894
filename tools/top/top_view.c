/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/top/top_view.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/utf8.h"

#include <string.h>

void top_view_init(struct top_view *view, uint64_t span_ns)
{
	*view = (struct top_view){
		.sorts_by_total = { [TOP_PROCESSES] = true, [TOP_TREE] = true },
		.span_ns = span_ns,
		.height = 1,
		.note = "",
	};
}

void top_view_done(struct top_view *view)
{
	top_rows_done(&view->rows);
}

/* Scrolls so that the selected row is visible. */
static void scroll(struct top_view *view)
{
	size_t count = view->rows.count;

	if (view->selected >= count)
		view->selected = count > 0 ? count - 1 : 0;
	if (view->first > view->selected)
		view->first = view->selected;
	if (view->selected - view->first >= view->height)
		view->first = view->selected - view->height + 1;
	/* No empty lines while rows are hidden above. */
	if (view->first > 0 && count - view->first < view->height)
		view->first = count > view->height ? count - view->height : 0;
}

static void select_key(struct top_view *view, uint64_t key)
{
	for (size_t i = 0; i < view->rows.count; i++)
		if (view->rows.items[i].key == key) {
			view->selected = i;
			return;
		}
}

static const struct top_row *selected_row(const struct top_view *view)
{
	return view->selected < view->rows.count ? &view->rows.items[view->selected] : NULL;
}

int top_view_update(struct top_view *view, const struct top_profile *profile)
{
	const struct top_order order = {
		.mode = view->mode,
		.by_total = view->sorts_by_total[view->mode],
		.filter = view->filter,
		.open = &view->open,
	};
	const struct top_row *row = selected_row(view);
	uint64_t key = row ? row->key : 0;
	/* If the first row is selected, the hottest row stays selected, whichever it is. */
	bool follows = row && view->selected > 0;
	int r = 0;

	if (profile)
		r = top_rows_make(&view->rows, profile, &order);
	else
		view->rows.count = 0;
	if (follows)
		select_key(view, key);
	scroll(view);
	return r;
}

void top_view_resize(struct top_view *view, size_t height)
{
	view->height = height > 0 ? height : 1;
	scroll(view);
}

static void move(struct top_view *view, uint32_t key)
{
	size_t count = view->rows.count;
	size_t last = count > 0 ? count - 1 : 0;
	size_t page = view->height > 1 ? view->height - 1 : 1;

	switch (key) {
	case TOP_KEY_UP:
		view->selected -= view->selected > 0;
		break;
	case TOP_KEY_DOWN:
		view->selected += view->selected < last;
		break;
	case TOP_KEY_PAGE_UP:
		view->selected -= view->selected > page ? page : view->selected;
		break;
	case TOP_KEY_PAGE_DOWN:
		view->selected += last - view->selected > page ? page : last - view->selected;
		break;
	case TOP_KEY_HOME:
		view->selected = 0;
		break;
	case TOP_KEY_END:
		view->selected = last;
		break;
	default:
		break;
	}
	scroll(view);
}

static int show_mode(struct top_view *view, const struct top_profile *profile, enum top_mode mode)
{
	if (mode == view->mode)
		return 0;
	view->mode = mode;
	view->selected = view->first = 0;
	if (mode == TOP_TREE && view->is_paused && profile && !profile->has_tree)
		view->note = "paused: space asks for the tree";
	return top_view_update(view, profile);
}

static void open_path(struct top_view *view, uint64_t path)
{
	if (!top_open_add(&view->open, path))
		view->note = "too many rows are open: c closes all";
}

/* Shows the selected thread name in the tree, opened. */
static int show_thread(struct top_view *view, const struct top_profile *profile)
{
	const struct top_row *row = selected_row(view);
	uint64_t key = row ? row->key : 0;
	int r;

	if (!row)
		return 0;
	open_path(view, key);
	r = show_mode(view, profile, TOP_TREE);
	select_key(view, key);
	scroll(view);
	return r;
}

/* Selects the caller of the selected row, which is above it. */
static void select_caller(struct top_view *view)
{
	uint32_t depth = view->rows.items[view->selected].depth;

	while (depth > 0 && view->selected > 0 && view->rows.items[view->selected].depth >= depth)
		view->selected--;
	scroll(view);
}

/* Opens the hottest callee of the selected row, then the hottest callee of that, and so on. */
static int open_hottest(struct top_view *view, const struct top_profile *profile)
{
	const struct top_row *row = selected_row(view);
	uint32_t node;
	int r;

	if (!row || view->mode != TOP_TREE)
		return 0;
	node = row->node;
	for (;;) {
		const struct top_node *it = &profile->nodes[node];
		uint32_t hottest = it->first_callee;

		for (uint32_t callee = hottest; callee != TOP_PROFILE_NONE;
			callee = profile->nodes[callee].next_callee)
			if (profile->nodes[callee].total > profile->nodes[hottest].total)
				hottest = callee;
		if (hottest == TOP_PROFILE_NONE)
			break;
		open_path(view, it->path);
		node = hottest;
	}
	r = top_view_update(view, profile);
	select_key(view, profile->nodes[node].path);
	scroll(view);
	return r;
}

/* Opens or closes a row of the tree; for a thread name, shows the tree. */
static int turn(struct top_view *view, const struct top_profile *profile, uint32_t key)
{
	const struct top_row *row = selected_row(view);
	uint64_t path;
	int r;

	if (view->mode == TOP_PROCESSES && key != TOP_KEY_LEFT)
		return show_thread(view, profile);
	if (view->mode != TOP_TREE || !row)
		return 0;
	path = row->key;
	if (key == TOP_KEY_RIGHT && row->is_open) {
		move(view, TOP_KEY_DOWN);
		return 0;
	}
	if (key == TOP_KEY_LEFT && !top_open_has(&view->open, path)) {
		select_caller(view);
		return 0;
	}
	if (top_open_has(&view->open, path))
		top_open_remove(&view->open, path);
	else if (row->has_callees)
		open_path(view, path);
	r = top_view_update(view, profile);
	select_key(view, path);
	scroll(view);
	return r;
}

/* Changes to the next longer (step 1) or shorter (-1) time. */
static enum top_action change_span(struct top_view *view, int step)
{
	static const uint64_t seconds[] = { 10, 30, 60, 300 };
	uint64_t span_ns = view->span_ns;

	for (size_t i = 0; i < ARRAY_SIZE(seconds); i++) {
		uint64_t ns = seconds[step > 0 ? i : ARRAY_SIZE(seconds) - 1 - i] * NSEC_PER_SEC;

		if (step > 0 ? ns > span_ns : ns < span_ns) {
			view->span_ns = ns;
			if (view->is_paused)
				view->note = "paused: space resumes";
			return TOP_ACTION_ASK;
		}
	}
	view->note = step > 0 ? "this is the longest time" : "this is the shortest time";
	return TOP_ACTION_NONE;
}

/* Removes the last character. */
static void shorten_filter(struct top_view *view)
{
	while (view->filter_size > 0) {
		unsigned char byte = (unsigned char)view->filter[--view->filter_size];

		if ((byte & 0xc0) != 0x80)
			break;
	}
	view->filter[view->filter_size] = '\0';
}

static size_t encode(uint32_t point, char bytes[4])
{
	if (point < 0x80) {
		bytes[0] = (char)point;
		return 1;
	}
	if (point < 0x800) {
		bytes[0] = (char)(0xc0 | point >> 6);
		bytes[1] = (char)(0x80 | (point & 0x3f));
		return 2;
	}
	if (point < 0x10000) {
		bytes[0] = (char)(0xe0 | point >> 12);
		bytes[1] = (char)(0x80 | (point >> 6 & 0x3f));
		bytes[2] = (char)(0x80 | (point & 0x3f));
		return 3;
	}
	bytes[0] = (char)(0xf0 | point >> 18);
	bytes[1] = (char)(0x80 | (point >> 12 & 0x3f));
	bytes[2] = (char)(0x80 | (point >> 6 & 0x3f));
	bytes[3] = (char)(0x80 | (point & 0x3f));
	return 4;
}

static void lengthen_filter(struct top_view *view, uint32_t point)
{
	char bytes[4];
	size_t size;

	if (point < ' ' || (point >= 0x7f && point < 0xa0) || point >= TOP_KEY_UP)
		return;
	size = encode(point, bytes);
	if (view->filter_size + size >= TOP_FILTER_BYTES || utf8_sequence(bytes, size) != size)
		return;
	memcpy(view->filter + view->filter_size, bytes, size);
	view->filter_size += size;
	view->filter[view->filter_size] = '\0';
}

static int clear_filter(struct top_view *view, const struct top_profile *profile)
{
	view->filter_size = 0;
	view->filter[0] = '\0';
	return top_view_update(view, profile);
}

static int type(struct top_view *view, const struct top_profile *profile, uint32_t key)
{
	switch (key) {
	case TOP_KEY_ENTER:
		view->is_typing = false;
		return 0;
	case TOP_KEY_ESCAPE:
		view->is_typing = false;
		return clear_filter(view, profile);
	case TOP_KEY_BACKSPACE:
		shorten_filter(view);
		break;
	default:
		if (key >= TOP_KEY_UP) {
			move(view, key);
			return 0;
		}
		lengthen_filter(view, key);
		break;
	}
	return top_view_update(view, profile);
}

static int close_all(struct top_view *view, const struct top_profile *profile)
{
	view->open.count = 0;
	return top_view_update(view, profile);
}

static int toggle_sort(struct top_view *view, const struct top_profile *profile)
{
	view->sorts_by_total[view->mode] = !view->sorts_by_total[view->mode];
	return top_view_update(view, profile);
}

/* Handles keys that do not change the list. False: it is another key. */
static bool press_control(struct top_view *view, uint32_t key, enum top_action *action)
{
	switch (key) {
	case 'q':
	case 'Q':
		*action = TOP_ACTION_QUIT;
		return true;
	case '?':
	case 'h':
		view->shows_help = !view->shows_help;
		return true;
	case '/':
		view->is_typing = true;
		return true;
	case ' ':
		view->is_paused = !view->is_paused;
		*action = view->is_paused ? TOP_ACTION_NONE : TOP_ACTION_ASK;
		return true;
	case '+':
	case '=':
		*action = change_span(view, 1);
		return true;
	case '-':
		*action = change_span(view, -1);
		return true;
	default:
		return false;
	}
}

static int press_list(struct top_view *view, const struct top_profile *profile, uint32_t key)
{
	switch (key) {
	case 'f':
		return show_mode(view, profile, TOP_FUNCTIONS);
	case 'p':
		return show_mode(view, profile, TOP_PROCESSES);
	case 't':
		return show_mode(view, profile, TOP_TREE);
	case 's':
		return toggle_sort(view, profile);
	case 'c':
		return close_all(view, profile);
	case 'e':
		return profile ? open_hottest(view, profile) : 0;
	case TOP_KEY_ESCAPE:
		return clear_filter(view, profile);
	case TOP_KEY_LEFT:
	case TOP_KEY_RIGHT:
	case TOP_KEY_ENTER:
		return turn(view, profile, key);
	case 'k':
		move(view, TOP_KEY_UP);
		return 0;
	case 'j':
		move(view, TOP_KEY_DOWN);
		return 0;
	default:
		move(view, key);
		return 0;
	}
}

int top_view_press(struct top_view *view, const struct top_profile *profile, uint32_t key,
	enum top_action *ret_action)
{
	enum top_action action = TOP_ACTION_NONE;
	int r = 0;

	view->note = "";
	if (view->shows_help && key != 'q' && key != 'Q')
		view->shows_help = false;
	else if (view->is_typing)
		r = type(view, profile, key);
	else if (!press_control(view, key, &action))
		r = press_list(view, profile, key);
	if (r < 0)
		return r;
	*ret_action = action;
	return 0;
}
