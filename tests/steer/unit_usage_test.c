/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "steer/unit_usage.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define WINDOW_NS 10000000000ULL
#define PERIOD_NS 10000000ULL

static struct unit_usage usage;
static uint64_t now_ns;

static int set_up(void **state)
{
	memset(&usage, 0, sizeof(usage));
	now_ns = 0;
	return 0;
}

/* A window in which two units take so much. Returns the one that has risen; "": none. */
static const char *wait_for_window(double first, double second)
{
	static struct unit_usage_entry risen;

	unit_usage_begin(&usage);
	if (first > 0) {
		unit_usage_add(&usage, "a.service", first / 2);
		unit_usage_add(&usage, "a.service", first / 2);
	}
	if (second > 0)
		unit_usage_add(&usage, "b.service", second);
	now_ns += WINDOW_NS;
	unit_usage_end(&usage, WINDOW_NS, PERIOD_NS, now_ns, &risen);
	return risen.name;
}

/* The same, and tells the unit that has risen. */
static const char *window(double first, double second)
{
	const char *name = wait_for_window(first, second);

	if (*name)
		unit_usage_tell(&usage, name);
	return name;
}

static void a_threshold_fires_as_it_is_crossed(void **state)
{
	usage.settings.percent = 150;
	assert_string_equal(window(200, 10), ""); /* it has risen earlier */
	assert_string_equal(window(200, 10), "");
	assert_string_equal(window(100, 150), "b.service");
	assert_string_equal(window(100, 180), "");
	assert_string_equal(window(0, 0), "");
	/* It falls below 3/4 of the threshold, not just below it. */
	assert_string_equal(window(0, 160), "b.service");
	assert_string_equal(window(0, 120), "");
	assert_string_equal(window(0, 160), "");
}

/* The one that takes most of both comes first. Neither is lost. */
static void of_two_at_once_the_other_comes_next(void **state)
{
	usage.settings.percent = 150;
	assert_string_equal(window(10, 10), "");
	assert_string_equal(window(160, 170), "b.service");
	assert_string_equal(window(160, 170), "a.service");
	assert_string_equal(window(160, 170), "");
	assert_string_equal(window(0, 0), "");
	assert_string_equal(window(160, 170), "b.service");
	assert_string_equal(window(0, 170), "");
}

/* What waits keeps its time, also if it varies around its threshold, and what is usual. */
static void what_waits_keeps_the_time_at_which_it_rose(void **state)
{
	usage.settings.percent = 150;
	assert_string_equal(window(10, 10), "");
	assert_string_equal(wait_for_window(160, 10), "a.service");
	assert_true(usage.entries[0].risen_ns == now_ns);
	assert_string_equal(wait_for_window(120, 180), "b.service");
	assert_string_equal(wait_for_window(160, 120), "a.service");
	assert_true(usage.entries[0].usual == 10);
	/* Those that rose until then are told; the other one still waits. */
	unit_usage_tell_until(&usage, now_ns - 2 * WINDOW_NS);
	assert_string_equal(wait_for_window(160, 120), "b.service");
	assert_true(usage.entries[1].risen_ns == now_ns - 2 * WINDOW_NS);
	assert_true(usage.entries[0].usual > 10);
	/* It falls: later it rises anew. */
	assert_string_equal(wait_for_window(160, 100), "");
	assert_string_equal(wait_for_window(160, 160), "b.service");
	assert_true(usage.entries[1].risen_ns == now_ns);
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
		unit_usage_end(&usage, WINDOW_NS, PERIOD_NS, ++now_ns, &risen);
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
	unit_usage_end(&usage, WINDOW_NS, PERIOD_NS, ++now_ns, &risen);
	assert_int_equal(strlen(risen.name), UNIT_USAGE_NAME_BYTES - 1);
	assert_true(risen.current == 60);
}

/* --- series of a day, without its time --- */

#define NSEC   1000000000ULL
#define DAY_NS (86400 * NSEC)

/* Draws numbers of independent events with this mean. */
enum { DRAW_MAX = 2048 };
struct draw {
	double cumulated[DRAW_MAX];
};

static void set_mean(struct draw *draw, double mean)
{
	double sum = 0;

	for (int i = 0; i < DRAW_MAX; i++) {
		sum += exp(i * log(mean) - mean - lgamma(i + 1.0));
		draw->cumulated[i] = sum;
	}
}

static double random_part(uint64_t *random)
{
	*random = *random * 6364136223846793005ULL + 1442695040888963407ULL;
	return (double)(*random >> 11) / (double)(1ULL << 53);
}

static unsigned next(const struct draw *draw, uint64_t *random)
{
	double part = random_part(random);
	unsigned low = 0, high = DRAW_MAX - 1;

	while (low < high) {
		unsigned middle = (low + high) / 2;

		if (draw->cumulated[middle] < part)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* How often a unit rises that takes so much all day. */
static unsigned rises_in_a_day(double percent, uint64_t window_ns, uint64_t period_ns)
{
	static struct draw draw;
	const double of_sample = 100.0 * (double)period_ns / (double)window_ns;
	struct unit_usage_entry risen;
	uint64_t random = 1;
	unsigned rises = 0;

	set_mean(&draw, percent / of_sample);
	memset(&usage, 0, sizeof(usage));
	usage.settings = (struct unit_usage_settings){ .percent = 40, .times = 4 };
	for (uint64_t i = 0; i < DAY_NS / window_ns; i++) {
		unit_usage_begin(&usage);
		unit_usage_add(&usage, "a.service", next(&draw, &random) * of_sample);
		unit_usage_end(&usage, window_ns, period_ns, (i + 1) * window_ns, &risen);
		rises += risen.name[0] != '\0';
	}
	return rises;
}

/* Not even near a threshold, nor at a low rate, in windows that a client ends each second. */
static void a_day_of_steady_load_has_no_incident(void **state)
{
	static const double loads[] = { 0.01, 1, 5, 10, 25, 35, 39, 40, 41, 50 };
	static const uint64_t windows_ns[] = { 1000000000, 2000000000, 10000000000 };
	static const uint64_t periods_ns[] = { NSEC / 499, NSEC / 99, NSEC / 7 };

	for (size_t i = 0; i < sizeof(loads) / sizeof(loads[0]); i++)
		for (size_t j = 0; j < 9; j++)
			assert_int_equal(
				rises_in_a_day(loads[i], windows_ns[j / 3], periods_ns[j % 3]), 0);
}

/* The share of a window that begins at `from` which a load from 0 to `length` takes, in seconds. */
static double overlap(double from, double length, double window)
{
	double begin = from > 0 ? from : 0, end = from + window < length ? from + window : length;

	return end > begin ? (end - begin) / window : 0;
}

/* Wherever windows of two seconds begin, a load of one CPU is noted, once: a lock convoy or a hog,
 * that gets most of its CPU beside others. */
static void a_load_of_two_seconds_or_more_is_noted_once(void **state)
{
	const double window_s = 2;
	struct unit_usage_entry risen;

	for (double length = 2; length <= 30; length++)
		for (double phase = 0; phase < window_s; phase += 0.1) {
			unsigned rises = 0;

			memset(&usage, 0, sizeof(usage));
			usage.settings = (struct unit_usage_settings){ .percent = 40, .times = 4 };
			for (double from = -100 - phase; from < 60; from += window_s) {
				unit_usage_begin(&usage);
				unit_usage_add(&usage, "steady.service", 30);
				unit_usage_add(&usage, "culprit.service",
					85 * overlap(from, length, window_s));
				unit_usage_end(&usage, 2 * NSEC, NSEC / 99, 1, &risen);
				if (!risen.name[0])
					continue;
				assert_string_equal(risen.name, "culprit.service");
				unit_usage_tell(&usage, risen.name);
				rises++;
			}
			assert_int_equal(rises, 1);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_threshold_fires_as_it_is_crossed, set_up),
		cmocka_unit_test_setup(what_waits_keeps_the_time_at_which_it_rose, set_up),
		cmocka_unit_test_setup(a_multiple_fires_once_the_usual_is_known, set_up),
		cmocka_unit_test_setup(next_to_nothing_is_no_incident, set_up),
		cmocka_unit_test_setup(the_usual_follows, set_up),
		cmocka_unit_test_setup(units_are_bounded, set_up),
		cmocka_unit_test_setup(of_two_at_once_the_other_comes_next, set_up),
		cmocka_unit_test(a_day_of_steady_load_has_no_incident),
		cmocka_unit_test(a_load_of_two_seconds_or_more_is_noted_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
