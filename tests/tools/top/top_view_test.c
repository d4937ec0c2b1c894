/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/top/top_view.h"

#include "base/clock.h"
#include "tests/harness/failing_allocation.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const char stacks[] = "nginx;main;serve;malloc 30\n"
			     "nginx;main;serve;read_[k] 10\n"
			     "nginx;main;idle 1\n"
			     "node;start;render_[j] 50\n"
			     "node;start;Malloc_hook 5\n";

struct screen {
	struct top_view view;
	struct top_profile *profile;
	char text[4096];
};

static struct screen screen;

static int set_up(void **state)
{
	top_view_init(&screen.view, 10ULL * NSEC_PER_SEC);
	if (top_profile_new(stacks, strlen(stacks), &screen.profile) < 0)
		return -1;
	top_view_resize(&screen.view, 20);
	return top_view_update(&screen.view, screen.profile);
}

static int tear_down(void **state)
{
	top_profile_free(screen.profile);
	top_view_done(&screen.view);
	return 0;
}

/* The rows as text: an indent, +, - or nothing, the name, * behind what is selected. */
static const char *rows(void)
{
	const struct top_view *view = &screen.view;
	size_t size = 0;

	screen.text[0] = '\0';
	for (size_t i = 0; i < view->rows.count; i++) {
		const struct top_row *row = &view->rows.items[i];

		size += (size_t)snprintf(screen.text + size, sizeof(screen.text) - size,
			"%*s%s%s%s ", (int)row->depth, "",
			!row->has_callees ? ""
			: row->is_open	  ? "-"
					  : "+",
			string_pool_get(&screen.profile->names, row->name),
			i == view->selected ? "*" : "");
	}
	return screen.text;
}

static enum top_action press(uint32_t key)
{
	enum top_action action = TOP_ACTION_QUIT;

	assert_int_equal(top_view_press(&screen.view, screen.profile, key, &action), 0);
	return action;
}

static void type(const char *keys)
{
	for (; *keys; keys++)
		assert_int_equal(press((uint32_t)*keys), TOP_ACTION_NONE);
}

static void each_mode_has_its_rows_in_order(void **state)
{
	assert_string_equal(
		rows(), "render_[j]* malloc read_[k] Malloc_hook idle start main serve ");
	type("s");
	assert_string_equal(
		rows(), "start* render_[j] main serve malloc read_[k] Malloc_hook idle ");
	type("p");
	assert_string_equal(rows(), "node* nginx ");
	type("t");
	assert_string_equal(rows(), "+node* +nginx ");
	/* Each mode keeps its order. */
	type("f");
	assert_int_equal(strncmp(rows(), "start*", 6), 0);
}

static void the_tree_opens_and_closes(void **state)
{
	type("t");
	(void)press(TOP_KEY_DOWN);
	(void)press(TOP_KEY_RIGHT);
	assert_string_equal(rows(), "+node -nginx*  +main ");
	(void)press(TOP_KEY_RIGHT);
	(void)press(TOP_KEY_ENTER);
	assert_string_equal(rows(), "+node -nginx  -main*   +serve   idle ");
	(void)press(TOP_KEY_DOWN);
	(void)press(TOP_KEY_DOWN);
	assert_string_equal(rows(), "+node -nginx  -main   +serve   idle* ");
	/* A row without callees does not open; the left key selects its caller. */
	(void)press(TOP_KEY_RIGHT);
	(void)press(TOP_KEY_LEFT);
	assert_string_equal(rows(), "+node -nginx  -main*   +serve   idle ");
	(void)press(TOP_KEY_LEFT);
	assert_string_equal(rows(), "+node -nginx  +main* ");
	(void)press(TOP_KEY_LEFT);
	(void)press(TOP_KEY_ENTER);
	assert_string_equal(rows(), "+node +nginx* ");
	/* Rows below stay as they were. */
	type("e");
	assert_string_equal(rows(), "+node -nginx  -main   -serve    malloc*    read_[k]   idle ");
	type("c");
	assert_string_equal(rows(), "+node +nginx* ");
}

static void a_process_leads_to_its_tree(void **state)
{
	type("p");
	(void)press(TOP_KEY_DOWN);
	(void)press(TOP_KEY_LEFT);
	assert_string_equal(rows(), "node nginx* ");
	(void)press(TOP_KEY_ENTER);
	assert_int_equal(screen.view.mode, TOP_TREE);
	assert_string_equal(rows(), "+node -nginx*  +main ");
}

static void the_selected_row_stays_selected(void **state)
{
	static const char later[] = "node;start;f 1\nnginx;main;serve;malloc 90\nnew;x 200\n";

	type("t");
	(void)press(TOP_KEY_DOWN);
	(void)press(TOP_KEY_RIGHT);
	(void)press(TOP_KEY_DOWN);
	top_profile_free(screen.profile);
	assert_int_equal(top_profile_new(later, strlen(later), &screen.profile), 0);
	assert_int_equal(top_view_update(&screen.view, screen.profile), 0);
	assert_string_equal(rows(), "+new -nginx  +main* +node ");
	/* Who looks at the first row looks at the hottest. */
	(void)press(TOP_KEY_HOME);
	top_profile_free(screen.profile);
	assert_int_equal(top_profile_new(stacks, strlen(stacks), &screen.profile), 0);
	assert_int_equal(top_view_update(&screen.view, screen.profile), 0);
	assert_string_equal(rows(), "+node* -nginx  +main ");
}

static void a_filter_is_typed(void **state)
{
	type("/mall");
	assert_string_equal(rows(), "malloc* Malloc_hook ");
	type("oc_");
	assert_string_equal(rows(), "Malloc_hook* ");
	(void)press(TOP_KEY_BACKSPACE);
	assert_string_equal(rows(), "malloc* Malloc_hook ");
	(void)press(TOP_KEY_ENTER);
	assert_false(screen.view.is_typing);
	type("t");
	/* Open as far as what matches, in both of the threads. */
	assert_string_equal(
		rows(), "-node*  -start   Malloc_hook -nginx  -main   -serve    malloc ");
	(void)press(TOP_KEY_ESCAPE);
	assert_string_equal(rows(), "+node* +nginx ");
	type("/node");
	assert_string_equal(rows(), "+node* ");
	/* All callees of a match are listed. */
	(void)press(TOP_KEY_ENTER);
	(void)press(TOP_KEY_RIGHT);
	assert_string_equal(rows(), "-node*  +start ");
	type("/x");
	assert_string_equal(rows(), "");
	(void)press(TOP_KEY_DOWN);
	(void)press(TOP_KEY_ESCAPE);
	assert_false(screen.view.is_typing);
	assert_string_equal(screen.view.filter, "");
}

static void a_filter_has_bounds_and_characters(void **state)
{
	type("/");
	(void)press(0xfc);
	(void)press(0x65e5);
	(void)press(0x1f525);
	(void)press(0x1b);
	(void)press(0x9b);
	(void)press(0xd800);
	assert_string_equal(screen.view.filter, "\xc3\xbc\xe6\x97\xa5\xf0\x9f\x94\xa5");
	(void)press(TOP_KEY_BACKSPACE);
	(void)press(TOP_KEY_BACKSPACE);
	assert_string_equal(screen.view.filter, "\xc3\xbc");
	(void)press(TOP_KEY_BACKSPACE);
	(void)press(TOP_KEY_BACKSPACE);
	assert_string_equal(screen.view.filter, "");
	for (int i = 0; i < 2 * TOP_FILTER_BYTES; i++)
		(void)press('x');
	assert_int_equal(strlen(screen.view.filter), TOP_FILTER_BYTES - 1);
}

static void the_selected_row_is_seen(void **state)
{
	top_view_resize(&screen.view, 3);
	for (int i = 0; i < 20; i++)
		(void)press(TOP_KEY_DOWN);
	assert_int_equal(screen.view.selected, 7);
	assert_int_equal(screen.view.first, 5);
	(void)press(TOP_KEY_PAGE_UP);
	assert_int_equal(screen.view.selected, 5);
	(void)press('k');
	assert_int_equal(screen.view.selected, 4);
	assert_int_equal(screen.view.first, 4);
	(void)press(TOP_KEY_HOME);
	(void)press(TOP_KEY_PAGE_DOWN);
	(void)press('j');
	assert_int_equal(screen.view.selected, 3);
	(void)press(TOP_KEY_END);
	assert_int_equal(screen.view.selected, 7);
	/* With more room no row is hidden for nothing. */
	top_view_resize(&screen.view, 100);
	assert_int_equal(screen.view.first, 0);
	top_view_resize(&screen.view, 0);
	assert_int_equal(screen.view.height, 1);
	assert_int_equal(screen.view.first, 7);
}

static void the_time_changes_in_steps(void **state)
{
	assert_int_equal(press('-'), TOP_ACTION_NONE);
	assert_string_equal(screen.view.note, "this is the shortest time");
	assert_int_equal(press('+'), TOP_ACTION_ASK);
	assert_true(screen.view.span_ns == 30ULL * NSEC_PER_SEC);
	assert_int_equal(press('+'), TOP_ACTION_ASK);
	assert_int_equal(press('='), TOP_ACTION_ASK);
	assert_true(screen.view.span_ns == 300ULL * NSEC_PER_SEC);
	assert_int_equal(press('+'), TOP_ACTION_NONE);
	screen.view.span_ns = 45ULL * NSEC_PER_SEC;
	assert_int_equal(press('-'), TOP_ACTION_ASK);
	assert_true(screen.view.span_ns == 30ULL * NSEC_PER_SEC);
}

static void pause_help_and_end(void **state)
{
	assert_int_equal(press(' '), TOP_ACTION_NONE);
	assert_true(screen.view.is_paused);
	assert_int_equal(press(' '), TOP_ACTION_ASK);
	assert_false(screen.view.is_paused);
	type("?");
	assert_true(screen.view.shows_help);
	type("t");
	assert_false(screen.view.shows_help);
	assert_int_equal(screen.view.mode, TOP_FUNCTIONS);
	type("?");
	assert_int_equal(press('q'), TOP_ACTION_QUIT);
	/* A letter of a filter ends nothing. */
	type("?/");
	assert_int_equal(press('q'), TOP_ACTION_NONE);
	assert_string_equal(screen.view.filter, "q");
}

static void keys_are_harmless_in_an_empty_table(void **state)
{
	enum top_action action;

	top_profile_free(screen.profile);
	screen.profile = NULL;
	assert_int_equal(top_view_update(&screen.view, NULL), 0);
	for (uint32_t mode = 0; mode < 3; mode++) {
		for (uint32_t key = TOP_KEY_UP; key <= TOP_KEY_ESCAPE; key++)
			assert_int_equal(top_view_press(&screen.view, NULL, key, &action), 0);
		for (const char *key = "sec/x"; *key; key++)
			assert_int_equal(
				top_view_press(&screen.view, NULL, (uint32_t)*key, &action), 0);
		assert_int_equal(top_view_press(&screen.view, NULL, TOP_KEY_ESCAPE, &action), 0);
		assert_int_equal(
			top_view_press(&screen.view, NULL, (uint32_t) "ptf"[mode], &action), 0);
	}
	assert_int_equal(screen.view.rows.count, 0);
}

static void too_many_open_nodes_are_refused(void **state)
{
	type("t");
	for (uint64_t path = 1; screen.view.open.count < TOP_OPEN_MAX; path++)
		assert_true(top_open_add(&screen.view.open, path * 7919));
	assert_true(top_open_add(&screen.view.open, 7919));
	assert_true(top_open_has(&screen.view.open, 7919 * 4000));
	assert_false(top_open_has(&screen.view.open, 7920));
	(void)press(TOP_KEY_ENTER);
	assert_non_null(strstr(screen.view.note, "too many"));
	assert_string_equal(rows(), "+node* +nginx ");
	top_open_remove(&screen.view.open, 7919);
	top_open_remove(&screen.view.open, 7920);
	assert_int_equal(screen.view.open.count, TOP_OPEN_MAX - 1);
	(void)press(TOP_KEY_ENTER);
	assert_string_equal(rows(), "-node*  +start +nginx ");
}

static void failing_allocations_leave_no_rows(void **state)
{
	static const uint32_t keys[] = { 'p', 't', '/', 'm' };

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		size_t n;

		for (n = 0;; n++) {
			struct top_view *view = &screen.view;
			enum top_mode mode = view->mode;
			enum top_action action;
			int r;

			top_rows_done(&view->rows);
			fail_allocation(n);
			r = top_view_press(view, screen.profile, keys[i], &action);
			if (!allocation_failed()) {
				assert_int_equal(r, 0);
				break;
			}
			assert_int_equal(r, -ENOMEM);
			assert_int_equal(view->rows.count, 0);
			view->mode = mode;
			view->filter_size = 0;
			view->filter[0] = '\0';
		}
		assert_true(n >= 1 || keys[i] == '/');
	}
	assert_string_equal(rows(),
		"-node*  -start   Malloc_hook -nginx  -main   -serve    malloc    read_[k] "
		"  idle ");
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_mode_has_its_rows_in_order),
		TEST(the_tree_opens_and_closes),
		TEST(a_process_leads_to_its_tree),
		TEST(the_selected_row_stays_selected),
		TEST(a_filter_is_typed),
		TEST(a_filter_has_bounds_and_characters),
		TEST(the_selected_row_is_seen),
		TEST(the_time_changes_in_steps),
		TEST(pause_help_and_end),
		TEST(keys_are_harmless_in_an_empty_table),
		TEST(too_many_open_nodes_are_refused),
		TEST(failing_allocations_leave_no_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
