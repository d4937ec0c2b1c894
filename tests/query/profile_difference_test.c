/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "query/profile_difference.h"

#include "tests/render/example_difference.h"

#include <errno.h>

enum { PER_CENT = DIFFERENCE_SHARE_ONE / 100 };

static struct profile *timed(const char *stack, uint64_t seconds, uint64_t period_ns, uint32_t cpus)
{
	struct profile *profile = example_empty();

	example_add(profile, stack);
	profile->start_ns = 1;
	profile->end_ns = 1 + seconds * 1000000000;
	profile->period_ns = period_ns;
	profile->cpu_count = cpus;
	return profile;
}

static void by_total_the_samples_are_the_whole(void **state)
{
	_cleanup_(profile_freep) struct profile *base = example_empty();
	_cleanup_(profile_freep) struct profile *compared = example_empty();
	struct profile_difference difference;

	example_add(base, "c|30|x:main");
	example_lose(base, PILOTLIGHT_DROP_RING_FULL, 10);
	example_lose(base, PILOTLIGHT_DROP_IDLE, 1000);
	example_add(compared, "c|200|x:main");
	difference = example_difference(base, compared, DIFFERENCE_BY_TOTAL);
	assert_int_equal(difference.samples[DIFFERENCE_BASE], 40);
	assert_int_equal(difference.samples[DIFFERENCE_COMPARED], 200);
	assert_int_equal(profile_difference_share(&difference, DIFFERENCE_BASE, 30), 75 * PER_CENT);
	assert_int_equal(
		profile_difference_share(&difference, DIFFERENCE_COMPARED, 30), 15 * PER_CENT);
	assert_int_equal(
		profile_difference_change(&difference, (uint64_t[]){ 30, 30 }), -60 * PER_CENT);
	assert_int_equal(
		profile_difference_change(&difference, (uint64_t[]){ 0, 200 }), 100 * PER_CENT);
}

/* The same work, seen for longer, at another rate and on more CPUs, is the same CPU time. */
static void by_time_the_cpus_are_the_whole(void **state)
{
	_cleanup_(profile_freep) struct profile *base = timed("c|100|x:main", 10, 10000000, 2);
	_cleanup_(profile_freep) struct profile *compared = timed("c|300|x:main", 30, 20000000, 4);
	struct profile_difference difference =
		example_difference(base, compared, DIFFERENCE_BY_TIME);

	/* 1 s of 20 s, and 6 s of 120 s. */
	assert_int_equal(profile_difference_share(&difference, DIFFERENCE_BASE, 100), 5 * PER_CENT);
	assert_int_equal(
		profile_difference_share(&difference, DIFFERENCE_COMPARED, 300), 5 * PER_CENT);
	assert_int_equal(profile_difference_change(&difference, (uint64_t[]){ 100, 300 }), 0);
	assert_int_equal(
		profile_difference_change(&difference, (uint64_t[]){ 100, 600 }), 5 * PER_CENT);
	/* Of its time it was recorded for a quarter alone. */
	base->possible_cpu_ns = 5 * 1000000000ULL;
	difference = example_difference(base, compared, DIFFERENCE_BY_TIME);
	assert_int_equal(
		profile_difference_share(&difference, DIFFERENCE_BASE, 100), 20 * PER_CENT);
}

/* 1 s blocked in 10 s is 10 %, however many CPUs there are. */
static void by_time_a_thread_is_the_whole_off_cpu(void **state)
{
	_cleanup_(profile_freep) struct profile *base = timed("c|100|x:main", 10, 10000000, 2);
	_cleanup_(profile_freep) struct profile *compared = timed("c|3000|x:main", 10, 10000000, 4);
	struct profile_difference difference;

	base->event = example_string(base, "offcpu");
	compared->event = example_string(compared, "offcpu");
	base->possible_cpu_ns = 20 * 1000000000ULL;
	difference = example_difference(base, compared, DIFFERENCE_BY_TIME);
	assert_false(profile_difference_is_cpu(&difference));
	assert_int_equal(
		profile_difference_share(&difference, DIFFERENCE_BASE, 100), 10 * PER_CENT);
	assert_int_equal(profile_difference_share(&difference, DIFFERENCE_COMPARED, 3000),
		(int64_t)300 * PER_CENT);
	base->covered_ns = 5 * 1000000000ULL;
	difference = example_difference(base, compared, DIFFERENCE_BY_TIME);
	assert_int_equal(
		profile_difference_share(&difference, DIFFERENCE_BASE, 100), 20 * PER_CENT);
}

/* No number of faults is 100 % of a time, so the base's is. */
static void by_time_events_are_compared_with_the_base(void **state)
{
	_cleanup_(profile_freep) struct profile *base = timed("c|100|x:main", 10, 7, 2);
	_cleanup_(profile_freep) struct profile *compared = timed("c|300|x:main", 20, 14, 4);
	struct profile_difference difference;

	base->event = example_string(base, "faults");
	compared->event = example_string(compared, "faults");
	difference = example_difference(base, compared, DIFFERENCE_BY_TIME);
	assert_false(profile_difference_is_time(&difference));
	assert_int_equal(
		profile_difference_share(&difference, DIFFERENCE_BASE, 100), 100 * PER_CENT);
	/* 4,200 in 20 s against 700 in 10 s. */
	assert_int_equal(profile_difference_share(&difference, DIFFERENCE_COMPARED, 300),
		(int64_t)300 * PER_CENT);
	difference = example_difference(base, compared, DIFFERENCE_BY_TOTAL);
	assert_int_equal(
		profile_difference_share(&difference, DIFFERENCE_COMPARED, 300), 100 * PER_CENT);
}

static void without_events_in_the_base_the_other_side_is_the_whole(void **state)
{
	_cleanup_(profile_freep) struct profile *base = timed("c|0|x:main", 10, 7, 2);
	_cleanup_(profile_freep) struct profile *compared = timed("c|300|x:main", 20, 7, 4);
	struct profile_difference difference;

	compared->event = example_string(compared, "faults");
	difference = example_difference(base, compared, DIFFERENCE_BY_TIME);
	assert_int_equal(profile_difference_share(&difference, DIFFERENCE_BASE, 0), 0);
	assert_int_equal(
		profile_difference_share(&difference, DIFFERENCE_COMPARED, 300), 100 * PER_CENT);
}

static void two_events_are_not_compared(void **state)
{
	_cleanup_(profile_freep) struct profile *base = timed("c|1|x:main", 10, 10000000, 2);
	_cleanup_(profile_freep) struct profile *compared = timed("c|1|x:main", 10, 10000000, 2);
	struct profile_difference difference;
	struct fault fault = { 0 };

	base->event = example_string(base, "cycles");
	compared->event = example_string(compared, "cpu-clock");
	assert_int_equal(
		profile_difference_init(&difference, base, compared, DIFFERENCE_BY_TOTAL, &fault),
		-EINVAL);
	assert_non_null(strstr(fault.text, "\"cycles\", the compared profile \"cpu-clock\""));
	compared->event = example_string(compared, "cycles");
	assert_int_equal(
		profile_difference_init(&difference, base, compared, DIFFERENCE_BY_TOTAL, &fault),
		0);
}

static void shares_are_rounded_to_the_nearest(void **state)
{
	_cleanup_(profile_freep) struct profile *base = example_empty();
	struct profile_difference difference;

	example_add(base, "c|3|x:main");
	difference = example_difference(base, base, DIFFERENCE_BY_TOTAL);
	assert_int_equal(profile_difference_share(&difference, DIFFERENCE_BASE, 1), 333333333);
	assert_int_equal(profile_difference_share(&difference, DIFFERENCE_BASE, 2), 666666667);
}

static void empty_profiles_have_no_shares(void **state)
{
	_cleanup_(profile_freep) struct profile *base = example_empty();
	_cleanup_(profile_freep) struct profile *compared = example_empty();
	struct profile_difference difference;

	example_add(compared, "c|8|x:main");
	difference = example_difference(base, compared, DIFFERENCE_BY_TOTAL);
	assert_int_equal(profile_difference_share(&difference, DIFFERENCE_BASE, 0), 0);
	assert_int_equal(
		profile_difference_change(&difference, (uint64_t[]){ 0, 8 }), 100 * PER_CENT);
}

static void an_unknown_time_is_reported(void **state)
{
	_cleanup_(profile_freep) struct profile *known = timed("c|1|x:main", 1, 1000, 1);
	_cleanup_(profile_freep) struct profile *unknown = timed("c|1|x:main", 1, 1000, 1);
	struct profile_difference difference = { .sides = { known, known } };
	struct fault fault = { 0 };

	for (int i = 0; i < 3; i++) {
		unknown->period_ns = i == 0 ? 0 : 1000;
		unknown->cpu_count = i == 1 ? 0 : 1;
		unknown->end_ns = i == 2 ? unknown->start_ns : 1000000001;
		fault.text[0] = '\0';
		assert_int_equal(profile_difference_init(
					 &difference, known, unknown, DIFFERENCE_BY_TIME, &fault),
			-EINVAL);
		assert_non_null(strstr(fault.text, "The compared profile"));
	}
	assert_ptr_equal(difference.sides[DIFFERENCE_COMPARED], known);
	fault.text[0] = '\0';
	assert_int_equal(
		profile_difference_init(&difference, unknown, known, DIFFERENCE_BY_TIME, &fault),
		-EINVAL);
	assert_non_null(strstr(fault.text, "The base profile"));
	assert_int_equal(
		profile_difference_init(&difference, unknown, known, DIFFERENCE_BY_TOTAL, &fault),
		0);
}

/* Figures from a damaged profile: no overflow, whatever they are. */
static void extreme_figures_saturate(void **state)
{
	_cleanup_(profile_freep) struct profile *base = timed("c|1|x:main", 1, 1, 1);
	_cleanup_(profile_freep) struct profile *compared = timed("c|1|x:main", 1, 1, 1);
	struct profile_difference difference;

	base->start_ns = 0;
	base->end_ns = UINT64_MAX;
	base->cpu_count = UINT32_MAX;
	compared->end_ns = compared->start_ns + 1;
	difference = example_difference(base, compared, DIFFERENCE_BY_TIME);
	assert_int_equal(
		profile_difference_share(&difference, DIFFERENCE_COMPARED, UINT64_MAX), INT64_MAX);
	assert_in_range(
		profile_difference_share(&difference, DIFFERENCE_BASE, UINT64_MAX), 1, INT64_MAX);
	base->samples.items[0].count = UINT64_MAX;
	base->accounts.dropped[PILOTLIGHT_DROP_RING_FULL] = UINT64_MAX;
	difference = example_difference(base, compared, DIFFERENCE_BY_TOTAL);
	assert_true(difference.samples[DIFFERENCE_BASE] == UINT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_total_the_samples_are_the_whole),
		cmocka_unit_test(by_time_the_cpus_are_the_whole),
		cmocka_unit_test(by_time_a_thread_is_the_whole_off_cpu),
		cmocka_unit_test(by_time_events_are_compared_with_the_base),
		cmocka_unit_test(without_events_in_the_base_the_other_side_is_the_whole),
		cmocka_unit_test(two_events_are_not_compared),
		cmocka_unit_test(shares_are_rounded_to_the_nearest),
		cmocka_unit_test(empty_profiles_have_no_shares),
		cmocka_unit_test(an_unknown_time_is_reported),
		cmocka_unit_test(extreme_figures_saturate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
