/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/incident_log.h"

#include "tests/harness/failing_allocation.h"
#include "tests/store/store_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

static char folder[64], path[80];

static int set_up(void **state)
{
	fixture_folder(folder);
	(void)snprintf(path, sizeof(path), "%s/incidents", folder);
	return 0;
}

static int tear_down(void **state)
{
	fixture_remove(folder);
	return 0;
}

static struct incident_list read_all(void)
{
	struct incident_list list;

	assert_int_equal(incident_log_read(folder, &list, NULL), 0);
	return list;
}

static struct incident made_up(uint64_t time_ns, const char *text)
{
	struct incident incident = {
		.time_ns = time_ns,
		.kept_from_ns = time_ns - 10,
		.kept_to_ns = time_ns + 10,
		.cause = "manual",
	};

	incident_set_text(&incident, text);
	return incident;
}

static void add(struct incident_list *list, uint64_t time_ns, const char *text)
{
	struct incident incident = made_up(time_ns, text);

	assert_int_equal(incident_log_add(folder, list, &incident, NULL), 0);
	assert_int_equal(list->items[list->count - 1].number, incident.number);
}

static void write_file(const char *text)
{
	FILE *file = fopen(path, "we");

	assert_non_null(file);
	assert_int_equal(fputs(text, file) >= 0, 1);
	assert_int_equal(fclose(file), 0);
}

static void a_missing_file_has_none(void **state)
{
	struct incident_list list = read_all();
	struct incident_times times;

	assert_int_equal(list.count, 0);
	assert_null(incident_list_find(&list, 1));
	incident_list_times(&list, &times);
	assert_false(incident_times_keep(&times, 0, UINT64_MAX));
	incident_list_done(&list);
}

static void what_was_added_is_read(void **state)
{
	struct incident_list list = read_all(), again;

	add(&list, 1000, "deploy 42");
	add(&list, 2000, "");
	again = read_all();
	assert_int_equal(again.count, 2);
	assert_memory_equal(again.items, list.items, 2 * sizeof(*list.items));
	assert_string_equal(incident_list_find(&again, 1)->text, "deploy 42");
	assert_int_equal(incident_list_find(&again, 2)->time_ns, 2000);
	assert_null(incident_list_find(&again, 3));
	incident_list_done(&list);
	incident_list_done(&again);
}

static void windows_that_overlap_are_kept(void **state)
{
	struct incident_list list = read_all();
	struct incident_times times;

	add(&list, 1000, "");
	incident_list_times(&list, &times);
	assert_true(incident_times_keep(&times, 0, 991));
	assert_true(incident_times_keep(&times, 995, 996));
	assert_true(incident_times_keep(&times, 1009, 5000));
	assert_false(incident_times_keep(&times, 0, 990));
	assert_false(incident_times_keep(&times, 1010, 5000));
	incident_list_done(&list);
}

/* No text can become another line, or be obeyed by a terminal. */
static void hostile_texts_stay_in_their_lines(void **state)
{
	static const char hostile[] = "a\n1 9 9 9 9 manual b\x1b[2J\xff\xe2\x80\xae";
	struct incident_list list = read_all(), again;
	char lengthy[1000];

	memset(lengthy, 'x', sizeof(lengthy) - 1);
	lengthy[sizeof(lengthy) - 1] = '\0';
	add(&list, 1000, hostile);
	add(&list, 2000, lengthy);
	again = read_all();
	assert_int_equal(again.count, 2);
	assert_null(strpbrk(again.items[0].text, "\n\x1b\xff"));
	assert_int_equal(strlen(again.items[1].text), INCIDENT_TEXT_BYTES - 1);
	assert_memory_equal(again.items, list.items, 2 * sizeof(*list.items));
	incident_list_done(&list);
	incident_list_done(&again);
}

static void a_text_is_cut_between_characters(void **state)
{
	struct incident incident = { 0 };
	char text[INCIDENT_TEXT_BYTES + 8];

	memset(text, 'x', INCIDENT_TEXT_BYTES - 2);
	strcpy(text + INCIDENT_TEXT_BYTES - 2, "\xe2\x82\xac");
	incident_set_text(&incident, text);
	assert_int_equal(strlen(incident.text), INCIDENT_TEXT_BYTES - 2);
}

static void other_lines_are_ignored(void **state)
{
	struct incident_list list;

	write_file("\nx\n1\n1 1 1 1 1\n1 1 1 1 1 manual\n2 1 1 1 1 manual later\n"
		   "1 -1 1 1 1 manual negative\n1 18446744073709551616 1 1 1 manual large\n"
		   "1 1 1 1 1 a-cause-that-is-too-long-for-its-room text\n"
		   "1 6 1 2 3 man\x1bual bad\n1 7 1 2 3 manual good\n");
	list = read_all();
	assert_int_equal(list.count, 1);
	assert_int_equal(list.items[0].number, 7);
	assert_string_equal(list.items[0].text, "good");
	add(&list, 1000, "next");
	assert_int_equal(list.items[1].number, 8);
	incident_list_done(&list);
}

static void the_oldest_are_dropped(void **state)
{
	struct incident_list list = read_all();

	for (int i = 0; i < INCIDENTS_MAX + 3; i++)
		add(&list, 1000, "many");
	assert_int_equal(list.count, INCIDENTS_MAX);
	assert_int_equal(list.items[0].number, 4);
	assert_int_equal(list.items[INCIDENTS_MAX - 1].number, INCIDENTS_MAX + 3);
	incident_list_done(&list);
	list = read_all();
	assert_int_equal(list.count, INCIDENTS_MAX);
	incident_list_done(&list);
}

static void a_file_of_many_lines_is_bounded(void **state)
{
	FILE *file = fopen(path, "we");
	struct incident_list list;

	assert_non_null(file);
	for (int i = 1; i < 2 * INCIDENTS_MAX; i++)
		(void)fprintf(file, "1 %d 1 2 3 manual text\n", i);
	assert_int_equal(fclose(file), 0);
	list = read_all();
	assert_int_equal(list.count, INCIDENTS_MAX);
	incident_list_done(&list);
}

static void errors_name_the_folder(void **state)
{
	struct incident incident = made_up(1000, "");
	struct incident_list list = read_all();
	struct fault fault = { 0 };

	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(incident_log_add(folder, &list, &incident, &fault), -EISDIR);
	assert_non_null(strstr(fault.text, folder));
	assert_int_equal(list.count, 0);
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(incident_log_add("/dev/null", &list, &incident, &fault), -ENOTDIR);
	incident_list_done(&list);
}

static int read_and_free(void)
{
	struct incident_list list;
	int r = incident_log_read(folder, &list, NULL);

	if (r == 0)
		incident_list_done(&list);
	return r;
}

static void failing_allocations_are_reported(void **state)
{
	struct incident incident = made_up(1000, "text");
	struct incident_list list = read_all();
	size_t count = 0;

	assert_true(FAIL_EACH_ALLOCATION(read_and_free(), -ENOMEM, true, 0) >= 1);
	assert_true(FAIL_EACH_ALLOCATION(incident_log_add(folder, &list, &incident, NULL), -ENOMEM,
			    list.count == count, 0) >= 1);
	assert_int_equal(list.count, 1);
	incident_list_done(&list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_missing_file_has_none, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_was_added_is_read, set_up, tear_down),
		cmocka_unit_test_setup_teardown(windows_that_overlap_are_kept, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			hostile_texts_stay_in_their_lines, set_up, tear_down),
		cmocka_unit_test(a_text_is_cut_between_characters),
		cmocka_unit_test_setup_teardown(other_lines_are_ignored, set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_oldest_are_dropped, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_file_of_many_lines_is_bounded, set_up, tear_down),
		cmocka_unit_test_setup_teardown(errors_name_the_folder, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			failing_allocations_are_reported, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
