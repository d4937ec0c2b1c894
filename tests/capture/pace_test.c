/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How many periods a sample stands for. */
#include "bpf/pace.bpf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { PERIOD = 1000, RANDOMS = PERIOD * 12 };

static uint64_t sum_over_randoms(uint64_t amount, uint32_t interval)
{
	uint64_t sum = 0;

	for (uint64_t random = 0; random < RANDOMS; random++)
		sum += pace_periods(amount, PERIOD, interval, random);
	return sum;
}

/* Over all values of chance, the periods are the amount: nothing is gained or lost. */
static void test_expectation(void **state)
{
	const uint64_t amounts[] = { 0, 1, 7, 999, 1000, 1001, 1500, 2999, 12345678 };
	const uint32_t intervals[] = { 1, 2, 3, 4 };

	(void)state;
	for (size_t i = 0; i < sizeof(amounts) / sizeof(amounts[0]); i++)
		for (size_t j = 0; j < sizeof(intervals) / sizeof(intervals[0]); j++)
			assert_int_equal(sum_over_randoms(amounts[i], intervals[j]) * PERIOD,
				amounts[i] * RANDOMS);
}

static void test_whole_periods_need_no_chance(void **state)
{
	(void)state;
	for (uint64_t random = 0; random < RANDOMS; random += 17) {
		assert_int_equal(pace_periods(5 * PERIOD, PERIOD, 1, random), 5);
		assert_int_equal(pace_periods(6 * PERIOD, PERIOD, 3, random), 6);
		assert_int_equal(pace_periods(1, 1, 1, random), 1);
	}
}

/* A sample stands for a multiple of the interval, and its number of periods fits. */
static void test_cut(void **state)
{
	(void)state;
	assert_int_equal(pace_periods(UINT64_MAX, 1, 1, 0), UINT32_MAX);
	assert_int_equal(pace_periods(UINT64_MAX, 1, PACE_INTERVAL_MAX, 0),
		UINT32_MAX / PACE_INTERVAL_MAX * PACE_INTERVAL_MAX);
	assert_int_equal(pace_periods(UINT64_MAX, 1ULL << 40, 1, UINT64_MAX), (1 << 24) - 1);
}

static void note(struct pace *pace, uint32_t times, uint32_t samples_per_slot, uint64_t now)
{
	while (times-- > 0)
		pace_note(pace, samples_per_slot, now);
}

static void test_interval_follows_rate(void **state)
{
	struct pace pace = { 0 };
	uint64_t now = 1;

	(void)state;
	assert_int_equal(pace_interval(&pace), 1);
	note(&pace, 99, 100, now);
	assert_int_equal(pace_interval(&pace), 1);
	note(&pace, 1, 100, now);
	assert_int_equal(pace_interval(&pace), 2);
	note(&pace, 100 * 20, 100, now);
	assert_int_equal(pace_interval(&pace), PACE_INTERVAL_MAX);
	/* Between a quarter and all of what is allowed, it stays. */
	note(&pace, 50, 100, now);
	now += PACE_SLOT_NS;
	note(&pace, 1, 100, now);
	assert_int_equal(pace_interval(&pace), PACE_INTERVAL_MAX);
	/* Then a quiet slot, and later a quiet minute. */
	now += PACE_SLOT_NS;
	note(&pace, 1, 100, now);
	assert_int_equal(pace_interval(&pace), PACE_INTERVAL_MAX / 2);
	now += 600ULL * PACE_SLOT_NS;
	note(&pace, 1, 100, now);
	assert_int_equal(pace_interval(&pace), 1);
}

static void test_interval_out_of_range(void **state)
{
	struct pace pace = { .interval = PACE_INTERVAL_MAX + 1 };

	(void)state;
	assert_int_equal(pace_interval(&pace), 1);
	pace.interval = PACE_INTERVAL_MAX;
	assert_int_equal(pace_interval(&pace), PACE_INTERVAL_MAX);
}

/* Few samples may be allowed in a slot: then, too, quiet slots bring more back. */
static void test_interval_recovers_from_small_slots(void **state)
{
	(void)state;
	for (uint32_t allowed = 1; allowed < 12; allowed++) {
		struct pace pace = { 0 };
		uint64_t now = 1;

		note(&pace, allowed * 3, allowed, now);
		assert_int_equal(pace_interval(&pace), 8);
		for (uint32_t quiet = 4; quiet > 0; quiet /= 2) {
			now += PACE_SLOT_NS;
			note(&pace, 1, allowed, now);
			assert_int_equal(pace_interval(&pace), quiet);
		}
	}
}

/* All stand for as many as there are, and the samples grow with their logarithm. */
static void test_bound_without_rate(void **state)
{
	double samples = 0;

	(void)state;
	for (uint32_t n = 0; n < 30000; n++) {
		uint32_t shift = pace_shift(n, 100);

		assert_true(n >= 100 || shift == 0);
		samples += 1.0 / (1U << shift);
	}
	assert_in_range(samples, 100 + 8 * 50, 100 + 9 * 50);
	assert_int_equal(pace_shift(100, 100), 1);
	assert_int_equal(pace_shift(199, 100), 1);
	assert_int_equal(pace_shift(200, 100), 2);
	assert_int_equal(pace_shift(UINT32_MAX, 1), PACE_SHIFT_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_expectation),
		cmocka_unit_test(test_whole_periods_need_no_chance),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_interval_follows_rate),
		cmocka_unit_test(test_interval_recovers_from_small_slots),
		cmocka_unit_test(test_interval_out_of_range),
		cmocka_unit_test(test_bound_without_rate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
