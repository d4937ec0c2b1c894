/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "steer/unit_usage.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define WINDOW_NS 10000000000ULL

static struct unit_usage usage;

static int set_up(void **state)
{
	memset(&usage, 0, sizeof(usage));
	return 0;
}

/* A window in which two units take so much. Returns the one that has risen; "": none. */
static const char *window(double first, double second)
{
	static struct unit_usage_entry risen;

	unit_usage_begin(&usage);
	if (first > 0) {
		unit_usage_add(&usage, "a.service", first / 2);
		unit_usage_add(&usage, "a.service", first / 2);
	}
	if (second > 0)
		unit_usage_add(&usage, "b.service", second);
	unit_usage_end(&usage, WINDOW_NS, &risen);
	return risen.name;
}

static void a_threshold_fires_as_it_is_crossed(void **state)
{
	usage.settings.percent = 150;
	assert_string_equal(window(200, 10), ""); /* it has risen earlier */
	assert_string_equal(window(200, 10), "");
	assert_string_equal(window(100, 150), "b.service");
	assert_string_equal(window(100, 180), "");
	assert_string_equal(window(0, 0), "");
	/* The one that takes most of both. */
	assert_string_equal(window(160, 170), "b.service");
	assert_string_equal(window(160, 170), "");
}

static void a_multiple_fires_once_the_usual_is_known(void **state)
{
	usage.settings.times = 3;
	for (int i = 0; i < UNIT_USAGE_LEARNING; i++)
		assert_string_equal(window(i % 2 ? 100 : 10, 15), "");
	/* The mean is 55, and 3 times of it is not reached; that of the other is 15. */
	assert_string_equal(window(120, 30), "");
	assert_string_equal(window(60, 50), "b.service");
	assert_string_equal(window(60, 50), "");
}

static void next_to_nothing_is_no_incident(void **state)
{
	usage.settings.times = 3;
	for (int i = 0; i < 2 * UNIT_USAGE_LEARNING; i++)
		assert_string_equal(window(1, 0.1), "");
	assert_string_equal(window(19, 10), "");
	assert_string_equal(window(21, 10), "a.service");
}

/* In an hour what is new becomes what is usual. */
static void the_usual_follows(void **state)
{
	usage.settings.times = 3;
	for (int i = 0; i < 360; i++)
		(void)window(10, 0);
	for (int i = 0; i < 720; i++)
		(void)window(100, 0);
	assert_in_range((int)usage.entries[0].usual, 80, 100);
	(void)window(1, 0);
	assert_string_equal(window(100, 0), "");
}

static void units_are_bounded(void **state)
{
	struct unit_usage_entry risen;
	char name[300];

	usage.settings.percent = 50;
	(void)window(40, 0);
	for (int round = 0; round < 3; round++) {
		unit_usage_begin(&usage);
		for (int i = 0; i < 200; i++) {
			(void)snprintf(name, sizeof(name), "run-%d-%d.scope", round, i);
			unit_usage_add(&usage, name, 1);
		}
		unit_usage_end(&usage, WINDOW_NS, &risen);
	}
	assert_int_equal(usage.count, UNIT_USAGE_MAX);
	/* The one that usually takes much is still known. */
	assert_string_equal(usage.entries[0].name, "a.service");
	assert_string_equal(window(60, 0), "a.service");
	/* A long name is cut, and found again. */
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	unit_usage_begin(&usage);
	unit_usage_add(&usage, name, 30);
	unit_usage_add(&usage, name, 30);
	unit_usage_end(&usage, WINDOW_NS, &risen);
	assert_int_equal(strlen(risen.name), UNIT_USAGE_NAME_BYTES - 1);
	assert_true(risen.current == 60);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_threshold_fires_as_it_is_crossed, set_up),
		cmocka_unit_test_setup(a_multiple_fires_once_the_usual_is_known, set_up),
		cmocka_unit_test_setup(next_to_nothing_is_no_incident, set_up),
		cmocka_unit_test_setup(the_usual_follows, set_up),
		cmocka_unit_test_setup(units_are_bounded, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
