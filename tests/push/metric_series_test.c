/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "push/metric_series.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { ROOM = 3 }; /* two series and "[other]" */

static struct service_status_series series[ROOM];
static struct service_status_metric metric;

static int set_up(void **state)
{
	memset(series, 0, sizeof(series));
	metric = (struct service_status_metric){
		.by = "unit", .series = series, .series_max = ROOM
	};
	return 0;
}

static uint64_t ns_of(const char *label)
{
	for (size_t i = 0; i < metric.series_count; i++)
		if (strcmp(series[i].label, label) == 0)
			return series[i].ns;
	return 0;
}

static void series_grow(void **state)
{
	metric_series_add(&metric, "a", 5, 1);
	metric_series_add(&metric, "b", 6, 1);
	metric_series_add(&metric, "a", 7, 2);
	assert_int_equal(metric.series_count, 2);
	assert_int_equal(ns_of("a"), 12);
	assert_int_equal(ns_of("b"), 6);
}

static void what_has_no_place_is_counted_together(void **state)
{
	metric_series_add(&metric, "a", 1, 1);
	metric_series_add(&metric, "b", 2, 1);
	metric_series_add(&metric, "c", 3, 1);
	metric_series_add(&metric, "d", 4, 1);
	metric_series_add(&metric, "[other]", 5, 1);
	assert_int_equal(metric.series_count, 3);
	assert_int_equal(ns_of("a"), 1);
	assert_int_equal(ns_of("[other]"), 12);
}

static void the_oldest_makes_room(void **state)
{
	metric_series_add(&metric, "[other]", 1, 1);
	metric_series_add(&metric, "a", 1, 1);
	metric_series_add(&metric, "b", 1, 2);
	metric_series_add(&metric, "c", 3, 3);
	assert_int_equal(ns_of("a"), 0);
	assert_int_equal(ns_of("b"), 1);
	assert_int_equal(ns_of("c"), 3);
	metric_series_add(&metric, "a", 9, 4);
	assert_int_equal(ns_of("b"), 0);
	assert_int_equal(ns_of("a"), 9);
	assert_int_equal(ns_of("[other]"), 1);
}

/* A metric without groups. */
static void one_series_needs_no_other(void **state)
{
	metric.series_max = 1;
	metric_series_add(&metric, "", 1, 1);
	metric_series_add(&metric, "", 2, 2);
	metric_series_add(&metric, "forged", 4, 2);
	assert_int_equal(metric.series_count, 1);
	assert_int_equal(ns_of(""), 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(series_grow, set_up),
		cmocka_unit_test_setup(what_has_no_place_is_counted_together, set_up),
		cmocka_unit_test_setup(the_oldest_makes_room, set_up),
		cmocka_unit_test_setup(one_series_needs_no_other, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
