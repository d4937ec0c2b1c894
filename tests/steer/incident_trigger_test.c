/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "steer/incident_trigger.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define SECONDS(n) ((n)*1000000000ULL)
#define DAY	   SECONDS(86400)

static uint64_t risen_ns; /* of the last incident */

static struct incident_trigger made_up(void)
{
	return (struct incident_trigger){
		.settings = {
			.thresholds = { [INCIDENT_CPU_PRESSURE] = 50, [INCIDENT_HOST_CPU] = 90 },
			.cool_down_ns = SECONDS(60),
			.per_day = 3,
		},
	};
}

static bool check(struct incident_trigger *trigger, double pressure, double cpu, uint64_t now_ns)
{
	const double measures[INCIDENT_CAUSES] = {
		[INCIDENT_CPU_PRESSURE] = pressure,
		[INCIDENT_MEMORY_PRESSURE] = 100,
		[INCIDENT_IO_PRESSURE] = -1,
		[INCIDENT_HOST_CPU] = cpu,
	};
	enum incident_cause cause = INCIDENT_CAUSES;
	bool has_fired = incident_trigger_check(trigger, measures, now_ns, &cause, &risen_ns);

	assert_true(!has_fired || cause == INCIDENT_CPU_PRESSURE || cause == INCIDENT_HOST_CPU);
	return has_fired;
}

static void test_fires_as_it_rises(void **state)
{
	struct incident_trigger trigger = made_up();

	(void)state;
	assert_false(check(&trigger, 10, 10, DAY));
	assert_true(check(&trigger, 50, 10, DAY + SECONDS(10)));
	/* It stays high, beyond the cool-down; then it rises again. */
	assert_false(check(&trigger, 99, 10, DAY + SECONDS(100)));
	assert_false(check(&trigger, 37, 10, DAY + SECONDS(110)));
	assert_true(check(&trigger, 51, 10, DAY + SECONDS(120)));
}

/* A measure that varies around its threshold all day is one incident. */
static void test_near_the_threshold_is_once(void **state)
{
	struct incident_trigger trigger = made_up();
	unsigned fired = 0;

	(void)state;
	trigger.settings.per_day = 200;
	for (uint64_t i = 0; i < 8640; i++)
		fired += check(&trigger, 50 + (double)(i * 7 % 20) - 10, 10, DAY + SECONDS(10 * i));
	assert_int_equal(fired, 1);
}

/* Of two that rise in one window the other one rises in the next, or once it has cooled down. */
static void test_two_at_once(void **state)
{
	struct incident_trigger trigger = made_up();

	(void)state;
	trigger.settings.cool_down_ns = SECONDS(1);
	assert_false(check(&trigger, 10, 10, DAY));
	assert_true(check(&trigger, 99, 99, DAY + SECONDS(10)));
	assert_true(trigger.is_high[INCIDENT_CPU_PRESSURE]);
	assert_true(check(&trigger, 99, 99, DAY + SECONDS(20)));
	assert_true(trigger.is_high[INCIDENT_HOST_CPU]);
	assert_false(check(&trigger, 99, 99, DAY + SECONDS(30)));
}

/* Five measures of one overload, which rise one after another, and one that rises much later. */
static void test_one_overload_is_one_incident(void **state)
{
	static const enum incident_cause states[] = { INCIDENT_CPU_PRESSURE, INCIDENT_HOST_CPU,
		INCIDENT_RUN_QUEUE, INCIDENT_IO_PRESSURE, INCIDENT_MEMORY_PRESSURE };
	struct incident_trigger trigger = made_up();
	unsigned fired = 0;

	(void)state;
	trigger.settings.cool_down_ns = SECONDS(600);
	for (size_t i = 0; i < 5; i++)
		trigger.settings.thresholds[states[i]] = 50;
	for (uint64_t i = 0; i < 720; i++) {
		double measures[INCIDENT_CAUSES] = { 0 };
		enum incident_cause cause;

		/* They vary around their thresholds. */
		for (size_t j = 0; j < 4; j++)
			measures[states[j]] = i < 1 + j ? 0 : i % 3 == j % 3 ? 45 : 55;
		measures[states[4]] = i < 20 ? 0 : 99;
		if (!incident_trigger_check(
			    &trigger, measures, DAY + SECONDS(10 * i), &cause, &risen_ns))
			continue;
		assert_int_equal(cause, states[fired ? 4 : 0]);
		assert_true(risen_ns == DAY + SECONDS(fired ? 200 : 10));
		fired++;
	}
	assert_int_equal(fired, 2);
}

/* What names its culprit comes first. */
static void test_a_unit_comes_before_the_host(void **state)
{
	struct incident_trigger trigger = made_up();
	double measures[INCIDENT_CAUSES] = { 0 };
	enum incident_cause cause;

	(void)state;
	trigger.settings.thresholds[INCIDENT_UNIT_CPU] = 1;
	assert_false(incident_trigger_check(&trigger, measures, DAY, &cause, &risen_ns));
	measures[INCIDENT_UNIT_CPU] = measures[INCIDENT_HOST_CPU] = 95;
	assert_true(
		incident_trigger_check(&trigger, measures, DAY + SECONDS(10), &cause, &risen_ns));
	assert_int_equal(cause, INCIDENT_UNIT_CPU);
}

static void test_does_not_fire_at_the_first_measure(void **state)
{
	struct incident_trigger trigger = made_up();

	(void)state;
	assert_false(check(&trigger, 99, 99, DAY));
	assert_false(check(&trigger, 99, 99, DAY + SECONDS(100)));
	assert_false(check(&trigger, 0, 99, DAY + SECONDS(200)));
	assert_true(check(&trigger, 99, 99, DAY + SECONDS(300)));
}

static void test_cools_down(void **state)
{
	struct incident_trigger trigger = made_up();

	(void)state;
	assert_false(check(&trigger, 0, 0, DAY));
	assert_true(check(&trigger, 99, 0, DAY + SECONDS(10)));
	assert_false(check(&trigger, 0, 99, DAY + SECONDS(69)));
	assert_false(check(&trigger, 0, 0, DAY + SECONDS(69)));
	assert_true(check(&trigger, 0, 99, DAY + SECONDS(70)));
}

/* What has risen a moment after another one is noted later, unless it has passed by then. */
static void test_what_lasts_is_noted_after_the_cool_down(void **state)
{
	struct incident_trigger trigger = made_up();

	(void)state;
	assert_false(check(&trigger, 0, 0, DAY));
	assert_true(check(&trigger, 99, 0, DAY + SECONDS(10)));
	for (uint64_t i = 45; i < 70; i += 5)
		assert_false(check(&trigger, 0, 99, DAY + SECONDS(i)));
	assert_true(check(&trigger, 0, 99, DAY + SECONDS(70)));
	/* It is an incident of the time at which it rose. */
	assert_true(risen_ns == DAY + SECONDS(45));
	assert_false(check(&trigger, 99, 99, DAY + SECONDS(110)));
	assert_false(check(&trigger, 0, 99, DAY + SECONDS(130)));
}

/* What does not fit into a day does not wait for the next one. */
static void test_a_full_day_makes_nothing_wait(void **state)
{
	struct incident_trigger trigger = made_up();

	(void)state;
	trigger.settings.per_day = 1;
	assert_false(check(&trigger, 0, 0, DAY));
	assert_true(check(&trigger, 99, 0, DAY + SECONDS(10)));
	assert_false(check(&trigger, 0, 99, DAY + SECONDS(60)));
	assert_true(incident_trigger_told_until(&trigger, DAY + SECONDS(60)) == DAY + SECONDS(60));
	assert_false(check(&trigger, 0, 99, 2 * DAY));
	assert_false(check(&trigger, 0, 0, 2 * DAY + SECONDS(10)));
	assert_true(check(&trigger, 0, 99, 2 * DAY + SECONDS(20)));
}

/* With a long cool-down, a load that has changed for good is usual by its end. */
static void test_nothing_waits_for_more_than_an_hour(void **state)
{
	struct incident_trigger trigger = made_up();

	(void)state;
	trigger.settings.cool_down_ns = SECONDS(7200);
	assert_false(check(&trigger, 0, 0, DAY));
	assert_true(check(&trigger, 99, 0, DAY + SECONDS(10)));
	for (uint64_t i = 600; i < 5400; i += 10)
		assert_false(check(&trigger, 0, 99, DAY + SECONDS(i)));
	for (uint64_t i = 5400; i < 10000; i += 10)
		assert_int_equal(check(&trigger, 99, 99, DAY + SECONDS(i)), i == 7210);
	assert_true(risen_ns == DAY + SECONDS(5400));
}

static void test_number_a_day_is_bounded(void **state)
{
	struct incident_trigger trigger = made_up();
	unsigned fired = 0;

	(void)state;
	for (uint64_t i = 0; i < 20; i++)
		fired += check(&trigger, i % 2 ? 99 : 0, 0, DAY + SECONDS(100 * i));
	assert_int_equal(fired, 3);
	assert_false(check(&trigger, 0, 0, 2 * DAY));
	assert_true(check(&trigger, 99, 0, 2 * DAY + SECONDS(1)));
}

static void test_earlier_incidents_count(void **state)
{
	struct incident_trigger trigger = made_up();

	(void)state;
	for (uint64_t i = 0; i < 3; i++)
		incident_trigger_recall(&trigger, DAY + SECONDS(100 * i));
	assert_false(check(&trigger, 0, 0, DAY + SECONDS(400)));
	assert_false(check(&trigger, 99, 0, DAY + SECONDS(500)));
	assert_false(check(&trigger, 0, 0, 2 * DAY));
	assert_true(check(&trigger, 99, 0, 2 * DAY + SECONDS(1)));
}

/* The clock was set back: it does not wait for the time of the last one. */
static void test_clock_set_back(void **state)
{
	struct incident_trigger trigger = made_up();

	(void)state;
	assert_false(check(&trigger, 0, 0, 5 * DAY));
	assert_true(check(&trigger, 99, 0, 5 * DAY + SECONDS(1)));
	assert_false(check(&trigger, 0, 0, DAY));
	assert_true(check(&trigger, 99, 0, DAY + SECONDS(1)));
}

static void test_unknown_measures_change_nothing(void **state)
{
	struct incident_trigger trigger = made_up();

	(void)state;
	assert_false(check(&trigger, 0, 0, DAY));
	assert_true(check(&trigger, 99, 0, DAY + SECONDS(1)));
	assert_false(check(&trigger, -1, -1, DAY + SECONDS(100)));
	assert_false(check(&trigger, 99, 0, DAY + SECONDS(200)));
}

static void test_off_without_thresholds(void **state)
{
	struct incident_trigger trigger = { .settings = { .per_day = 3 } };

	(void)state;
	assert_false(check(&trigger, 0, 0, DAY));
	assert_false(check(&trigger, 100, 100, DAY + SECONDS(1)));
}

static void test_pressure_is_parsed(void **state)
{
	static const struct {
		const char *text;
		double percent;
	} cases[] = {
		{ "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n", 0 },
		{ "some avg10=99.50 avg60=1.00 avg300=2.00 total=3\nfull avg10=1.00 \n", 99.5 },
		{ "full avg10=1.00 avg60=0.00\n", -1 },
		{ "some avg10=", -1 },
		{ "some avg10=-1.0 ", -1 },
		{ "some avg10=101.0 ", -1 },
		{ "some avg10=nan ", -1 },
		{ "some avg10=1.0", -1 },
		{ "", -1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_true(incident_pressure_parse(cases[i].text) == cases[i].percent);
	for (enum incident_cause i = 0; i < INCIDENT_CAUSES; i++)
		assert_non_null(incident_cause_name(i));
}

/* An event is no state that lasts: each is one, also at the first measure. */
static void test_events_need_not_fall(void **state)
{
	struct incident_trigger trigger = {
		.settings = { .thresholds = { [INCIDENT_OOM_KILL] = 1 }, .per_day = 9 },
	};
	double measures[INCIDENT_CAUSES] = { 0 };
	enum incident_cause cause;

	(void)state;
	measures[INCIDENT_OOM_KILL] = 2;
	assert_true(incident_trigger_check(&trigger, measures, DAY, &cause, &risen_ns));
	assert_int_equal(cause, INCIDENT_OOM_KILL);
	assert_true(incident_trigger_check(&trigger, measures, DAY + 1, &cause, &risen_ns));
	measures[INCIDENT_OOM_KILL] = 0;
	assert_false(incident_trigger_check(&trigger, measures, DAY + 2, &cause, &risen_ns));
}

static void test_kills_are_parsed(void **state)
{
	(void)state;
	assert_true(incident_kills_parse("pgfree 1\noom_kill 12\nnuma 3\n") == 12);
	assert_true(incident_kills_parse("pgfree 1\noom_kill 0") == 0);
	assert_true(incident_kills_parse("pgfree 1\nxoom_kill 12\n") == -1);
	assert_true(incident_kills_parse("pgfree 1\noom_kill x\n") == -1);
	assert_true(incident_kills_parse("") == -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fires_as_it_rises),
		cmocka_unit_test(test_near_the_threshold_is_once),
		cmocka_unit_test(test_two_at_once),
		cmocka_unit_test(test_one_overload_is_one_incident),
		cmocka_unit_test(test_a_full_day_makes_nothing_wait),
		cmocka_unit_test(test_nothing_waits_for_more_than_an_hour),
		cmocka_unit_test(test_a_unit_comes_before_the_host),
		cmocka_unit_test(test_does_not_fire_at_the_first_measure),
		cmocka_unit_test(test_cools_down),
		cmocka_unit_test(test_what_lasts_is_noted_after_the_cool_down),
		cmocka_unit_test(test_number_a_day_is_bounded),
		cmocka_unit_test(test_earlier_incidents_count),
		cmocka_unit_test(test_clock_set_back),
		cmocka_unit_test(test_unknown_measures_change_nothing),
		cmocka_unit_test(test_off_without_thresholds),
		cmocka_unit_test(test_pressure_is_parsed),
		cmocka_unit_test(test_events_need_not_fall),
		cmocka_unit_test(test_kills_are_parsed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
