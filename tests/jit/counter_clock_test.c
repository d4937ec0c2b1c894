/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "jit/counter_clock.h"

#include "base/clock.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* A counter of 2.5 GHz. */
static struct counter_reading reading_at(uint64_t time_ns)
{
	return (struct counter_reading){ .counter = 1000 + time_ns / 2 * 5, .time_ns = time_ns };
}

static struct counter_clock clock_of(uint64_t first_ns, uint64_t last_ns)
{
	const struct counter_reading first = reading_at(first_ns), last = reading_at(last_ns);
	struct counter_clock clock;

	assert_int_equal(counter_clock_from(&first, &last, &clock), 0);
	return clock;
}

static void stamps_before_and_after_the_readings_are_converted(void **state)
{
	const uint64_t second = 1000000000;
	struct counter_clock clock = clock_of(500 * second, 501 * second);

	for (uint64_t s = 1; s <= 1000; s++) {
		uint64_t time_ns = counter_clock_to_ns(&clock, reading_at(s * second).counter);

		/* The rate is kept to 2^-32 ns a tick. */
		assert_in_range(time_ns, s * second - 1000, s * second + 1000);
	}
}

static void times_are_clamped(void **state)
{
	struct counter_clock clock;
	struct counter_reading first = { .counter = 1ULL << 62, .time_ns = 1000 };
	struct counter_reading last = { .counter = (1ULL << 62) + 10, .time_ns = 2000 };

	assert_int_equal(counter_clock_from(&first, &last, &clock), 0);
	assert_int_equal(counter_clock_to_ns(&clock, 0), 0);
	assert_int_equal(counter_clock_to_ns(&clock, last.counter), 2000);
	assert_int_equal(counter_clock_to_ns(&clock, last.counter - 20), 0);
	assert_int_equal(counter_clock_to_ns(&clock, last.counter - 19), 100);
	assert_true(counter_clock_to_ns(&clock, UINT64_MAX) == UINT64_MAX);
}

static void readings_without_a_rate_are_refused(void **state)
{
	const struct counter_reading first = { .counter = 1000, .time_ns = 1000 };
	const struct counter_reading wrong[] = {
		{ .counter = 1000, .time_ns = 2000 },	     /* stands still */
		{ .counter = 999, .time_ns = 2000 },	     /* runs backward */
		{ .counter = 2000, .time_ns = 1000 },	     /* no time has passed */
		{ .counter = 2000, .time_ns = 900 },	     /* time runs backward */
		{ .counter = 1001, .time_ns = 2001 + 1 },    /* slower than 1 MHz */
		{ .counter = 101000 + 99, .time_ns = 1990 }, /* faster than 100 GHz */
	};
	struct counter_clock clock;

	memset(&clock, 0x5a, sizeof(clock));
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		assert_int_equal(counter_clock_from(&first, &wrong[i], &clock), -EINVAL);
	assert_int_equal(clock.ns_per_tick, 0x5a5a5a5a5a5a5a5a);
}

static void a_longer_span_improves_the_rate(void **state)
{
	const uint64_t second = 1000000000;
	struct counter_reading first = reading_at(0), last = reading_at(5000000);
	struct counter_reading later = reading_at(10 * second);
	struct counter_clock clock;
	uint64_t before_ns, after_ns;

	last.time_ns += 50; /* a bad reading: 10 ppm */
	assert_int_equal(counter_clock_from(&first, &last, &clock), 0);
	before_ns = counter_clock_to_ns(&clock, reading_at(20 * second).counter);
	assert_in_range(before_ns, 20 * second + 100000, 20 * second + 300000);
	counter_clock_add(&clock, &later);
	after_ns = counter_clock_to_ns(&clock, reading_at(20 * second).counter);
	assert_in_range(after_ns, 20 * second - 100, 20 * second + 100);
}

static void a_span_that_is_too_short_does_not_spoil_the_rate(void **state)
{
	const uint64_t second = 1000000000;
	struct counter_clock clock = clock_of(0, 100 * second);
	struct counter_reading asleep = reading_at(1000 * second), soon;
	const uint64_t rate = clock.ns_per_tick;

	/* The machine slept: the counter ran on while the time stood still. */
	asleep.time_ns = 101 * second;
	counter_clock_add(&clock, &asleep);
	assert_int_equal(clock.ns_per_tick, rate);
	assert_int_equal(counter_clock_to_ns(&clock, asleep.counter), asleep.time_ns);
	soon = (struct counter_reading){ .counter = asleep.counter + 2600,
		.time_ns = asleep.time_ns + 1000 };
	counter_clock_add(&clock, &soon);
	assert_int_equal(clock.ns_per_tick, rate);
	assert_int_equal(counter_clock_to_ns(&clock, soon.counter), soon.time_ns);
}

static void an_earlier_reading_changes_nothing(void **state)
{
	const uint64_t second = 1000000000;
	struct counter_clock clock = clock_of(50 * second, 100 * second);
	const uint64_t rate = clock.ns_per_tick;
	const struct counter_reading earlier = reading_at(20 * second);

	counter_clock_add(&clock, &earlier);
	assert_int_equal(clock.ns_per_tick, rate);
}

static void the_counter_of_this_machine_works(void **state)
{
	struct shared_counter_clock shared = { 0 };
	const struct counter_clock *clock = shared_counter_clock_get(&shared);
	struct counter_reading reading;
	uint64_t time_ns;

	if (!clock) {
		assert_int_equal(shared.error, -EOPNOTSUPP);
		print_message("no counter of the CPU can be read here\n");
		skip();
	}
	for (unsigned i = 0; i < 100; i++) {
		const uint64_t before_ns = clock_monotonic_ns();

		assert_ptr_equal(shared_counter_clock_get(&shared), clock);
		assert_int_equal(counter_reading_take(&reading), 0);
		time_ns = counter_clock_to_ns(clock, reading.counter);
		/* Of what was measured a moment ago: however long the machine keeps us. */
		assert_in_range(time_ns, before_ns - 1000000, clock_monotonic_ns() + 1000000);
		assert_in_range(reading.time_ns, before_ns, clock_monotonic_ns());
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stamps_before_and_after_the_readings_are_converted),
		cmocka_unit_test(times_are_clamped),
		cmocka_unit_test(readings_without_a_rate_are_refused),
		cmocka_unit_test(a_longer_span_improves_the_rate),
		cmocka_unit_test(a_span_that_is_too_short_does_not_spoil_the_rate),
		cmocka_unit_test(an_earlier_reading_changes_nothing),
		cmocka_unit_test(the_counter_of_this_machine_works),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
