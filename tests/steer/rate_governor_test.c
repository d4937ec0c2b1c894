/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "steer/rate_governor.h"

#include "base/array.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define PERIOD_NS 10000000000ULL

/* FALL: periods of too much after which the rate is lowered. */
enum { WANTED_HZ = 99, MAX_PPM = 1500, CPUS = 4, HOUR = 360, RUNGS_MAX = 64, FALL = 3 };

/* What sampling costs on a machine. */
struct machine {
	double ns_a_sample;
	double constant_ppm; /* of what goes with sampling, and does not with its rate */
	double other_ppm;
	double load;  /* of all CPUs; the others have no samples */
	double noise; /* of what samples take, up or down at most so much of it */
	uint64_t random;
};

/* What has come of some periods. */
struct outcome {
	unsigned changes, falls;
	unsigned last_change; /* the period */
	double mean_ppm;      /* of what sampling took */
	double most_ppm;
};

static double noise_of(struct machine *machine)
{
	machine->random = machine->random * 6364136223846793005ULL + 1442695040888963407ULL;
	return 1 + machine->noise * ((double)(machine->random >> 33) / (1U << 30) - 1);
}

static struct rate_governor_use use_of(struct machine *machine, uint32_t rate_hz)
{
	double cpu_s = CPUS * 10.0, samples = rate_hz * cpu_s * machine->load;

	return (struct rate_governor_use){
		.elapsed_ns = PERIOD_NS,
		.cpu_count = CPUS,
		.sampling_ns = (uint64_t)(samples * machine->ns_a_sample * noise_of(machine) +
					  machine->constant_ppm * cpu_s * 1000),
		.other_ns = (uint64_t)(machine->other_ppm * cpu_s * 1000),
		.samples = (uint64_t)samples,
	};
}

static double ppm_of(uint64_t used_ns)
{
	return (double)used_ns / (CPUS * 10.0 * 1000);
}

static struct outcome run(
	struct rate_governor *governor, struct machine *machine, unsigned period_count)
{
	struct outcome outcome = { 0 };

	for (unsigned i = 0; i < period_count; i++) {
		uint32_t before = governor->rate_hz, after;
		struct rate_governor_use use = use_of(machine, before);
		double ppm = ppm_of(use.sampling_ns);

		after = rate_governor_run(governor, &use);
		assert_int_equal(after, governor->rate_hz);
		assert_in_range(governor->rate_hz, governor->floor_hz, governor->configured_hz);
		outcome.mean_ppm += ppm / period_count;
		if (ppm > outcome.most_ppm)
			outcome.most_ppm = ppm;
		if (governor->rate_hz == before)
			continue;
		outcome.changes++;
		outcome.falls += governor->rate_hz < before;
		outcome.last_change = i;
	}
	return outcome;
}

static struct rate_governor new_governor(void)
{
	struct rate_governor governor;

	rate_governor_init(&governor, WANTED_HZ, MAX_PPM);
	assert_int_equal(governor.rate_hz, WANTED_HZ);
	return governor;
}

static void a_cheap_machine_keeps_the_configured_rate(void **state)
{
	struct rate_governor governor = new_governor();
	struct machine machine = { .ns_a_sample = 6000, .load = 1, .constant_ppm = 300 };

	assert_int_equal(run(&governor, &machine, HOUR).changes, 0);
	/* 99 Hz × 6 us, and what is constant. */
	assert_float_equal(rate_governor_cost_ppm(&governor), 894, 1);
}

static void an_expensive_machine_lowers_the_rate_soon(void **state)
{
	struct rate_governor governor = new_governor();
	struct machine machine = { .ns_a_sample = 30000, .load = 1 };
	struct outcome outcome;

	/* Twice the budget: half the rate, and a tenth below. */
	assert_int_equal(run(&governor, &machine, FALL - 1).changes, 0);
	assert_int_equal(run(&governor, &machine, 1).changes, 1);
	assert_in_range(governor.rate_hz, 30, 49);
	outcome = run(&governor, &machine, HOUR);
	assert_int_equal(outcome.changes, 0);
	assert_true(outcome.most_ppm <= MAX_PPM);
	assert_true(outcome.most_ppm > MAX_PPM / 2.0);
}

/* Of any part of the cost that is constant, and of any cost a sample: it ends, and within budget.
 */
static void it_converges(void **state)
{
	for (double ns = 500; ns < 1e6; ns *= 1.7)
		for (double constant = 0; constant < MAX_PPM; constant += 170) {
			struct rate_governor governor = new_governor();
			struct machine machine = {
				.ns_a_sample = ns, .load = 1, .constant_ppm = constant
			};
			struct outcome outcome = run(&governor, &machine, HOUR);

			assert_int_equal(outcome.changes, outcome.falls);
			assert_true(outcome.changes <= 11);
			assert_true(outcome.last_change < 11 * FALL);
			outcome = run(&governor, &machine, 1);
			assert_true(outcome.most_ppm <= MAX_PPM ||
				    governor.rate_hz == governor.floor_hz);
		}
}

static void noise_does_not_make_it_swing(void **state)
{
	for (uint64_t seed = 1; seed <= 50; seed++) {
		struct rate_governor governor = new_governor();
		struct machine machine = { .ns_a_sample = 20000,
			.load = 1,
			.constant_ppm = 100,
			.noise = 0.3,
			.random = seed };
		struct outcome outcome = run(&governor, &machine, HOUR);

		assert_true(outcome.changes <= 12);
		outcome = run(&governor, &machine, 24 * HOUR);
		assert_true(outcome.changes <= 24);
		assert_true(outcome.mean_ppm <= MAX_PPM);
		assert_true(outcome.mean_ppm > MAX_PPM / 2.0);
	}
}

/* Not at once, then one rung at a time, and no fall after it. */
static void it_recovers_from_a_burst(void **state)
{
	struct rate_governor governor = new_governor();
	struct machine calm = { .ns_a_sample = 6000, .load = 1 }, burst = calm;
	struct outcome outcome;
	uint32_t lowest;

	(void)run(&governor, &calm, 10);
	burst.ns_a_sample = 100000;
	/* A short one is none. */
	assert_int_equal(run(&governor, &burst, FALL - 1).changes, 0);
	assert_int_equal(run(&governor, &calm, 1).changes, 0);
	assert_int_equal(run(&governor, &burst, FALL).falls, 1);
	lowest = governor.rate_hz;
	assert_in_range(lowest, 7, 14);
	assert_int_equal(run(&governor, &calm, 5).changes, 0);
	assert_int_equal(run(&governor, &calm, 1).changes, 1);
	assert_in_range(governor.rate_hz, lowest + 1, 2 * lowest);
	outcome = run(&governor, &calm, HOUR);
	assert_int_equal(outcome.falls, 0);
	assert_int_equal(governor.rate_hz, WANTED_HZ);
	assert_true(outcome.changes <= 11);
	assert_true(outcome.last_change < HOUR / 4);
}

/* Load that comes and goes at the worst of times: each lesson lasts longer than the one before. */
static void load_that_comes_and_goes_makes_fewer_and_fewer_changes(void **state)
{
	struct rate_governor governor = new_governor();
	struct machine dear = { .ns_a_sample = 30000, .load = 1 }, cheap = dear;
	unsigned changes = 0, late_changes = 0;

	cheap.ns_a_sample = 3000;
	for (int i = 0; i < 400; i++) {
		unsigned count = run(&governor, &cheap, 8).changes;

		count += run(&governor, &dear, FALL).changes;
		changes += count;
		late_changes += i >= 20 ? count : 0;
	}
	assert_true(changes >= 2);
	assert_int_equal(late_changes, 0);
}

/* Two periods of six: a burst is too short to count by itself, and yet they are dear as a whole. */
static void bursts_that_are_too_much_on_the_whole_lower_the_rate(void **state)
{
	struct rate_governor governor = new_governor();
	struct machine dear = { .ns_a_sample = 140000, .load = 1 }, cheap = dear;
	double mean_ppm = 0;

	cheap.ns_a_sample = 1000;
	assert_int_equal(run(&governor, &dear, FALL - 1).falls, 0);
	assert_int_equal(run(&governor, &cheap, 4).changes, 0);
	assert_int_equal(run(&governor, &dear, FALL - 1).falls, 1);
	/* From then on, in the long run, they are within the budget. */
	for (int i = 0; i < HOUR; i++) {
		mean_ppm += 4 * run(&governor, &cheap, 4).mean_ppm / (6 * HOUR);
		mean_ppm += 2 * run(&governor, &dear, FALL - 1).mean_ppm / (6 * HOUR);
	}
	assert_true(mean_ppm <= MAX_PPM);
}

/* The same times, but what is left of the budget between them pays for them. */
static void bursts_that_are_within_the_budget_on_the_whole_pass(void **state)
{
	struct rate_governor governor = new_governor();
	struct machine dear = { .ns_a_sample = 40000, .load = 1 }, cheap = dear;

	cheap.ns_a_sample = 1000;
	for (int i = 0; i < HOUR; i++) {
		assert_int_equal(run(&governor, &dear, FALL - 1).changes, 0);
		assert_int_equal(run(&governor, &cheap, 4).changes, 0);
	}
}

static void an_idle_machine_raises_the_rate_late(void **state)
{
	struct rate_governor busy = new_governor(), idle = new_governor();
	struct machine dear = { .ns_a_sample = 30000, .load = 1 }, cheap = dear;

	(void)run(&busy, &dear, FALL);
	(void)run(&idle, &dear, FALL);
	cheap.ns_a_sample = 3000;
	assert_int_equal(run(&busy, &cheap, 6).changes, 1);
	cheap.load = 0.01;
	assert_int_equal(run(&idle, &cheap, 47).changes, 0);
	assert_int_equal(run(&idle, &cheap, 1).changes, 1);
	/* Nor does nothing at all. */
	cheap.load = 0;
	(void)run(&idle, &cheap, 2 * HOUR);
	assert_int_equal(idle.rate_hz, WANTED_HZ);
}

/* Start-up and answers take of the budget over ten minutes, and at most half of it. */
static void other_cpu_time_is_averaged(void **state)
{
	struct rate_governor governor = new_governor();
	struct machine machine = { .ns_a_sample = 7000, .load = 1 }, start = machine;
	struct outcome outcome;

	start.other_ppm = 25000; /* a second of CPU time */
	assert_int_equal(run(&governor, &start, 1).changes, 0);
	assert_int_equal(run(&governor, &machine, HOUR).changes, 0);

	machine.ns_a_sample = 12000;
	machine.other_ppm = 10 * MAX_PPM;
	outcome = run(&governor, &machine, 3 * HOUR);
	assert_in_range(outcome.changes, 1, 11);
	outcome = run(&governor, &machine, HOUR);
	assert_int_equal(outcome.changes, 0);
	assert_true(outcome.most_ppm <= MAX_PPM / 2.0);
	assert_true(outcome.most_ppm > MAX_PPM / 4.0);
}

static void it_never_goes_below_the_floor(void **state)
{
	static const uint32_t configured[] = { 1, 2, 5, 7, 8, 9, 11, 99, 1000, UINT32_MAX };

	for (size_t i = 0; i < ARRAY_SIZE(configured); i++) {
		struct rate_governor governor;
		struct machine machine = { .ns_a_sample = 1e9, .load = 0.001 };

		rate_governor_init(&governor, configured[i], 1);
		(void)run(&governor, &machine, 10 * FALL);
		assert_int_equal(governor.rate_hz, configured[i] < 7 ? configured[i] : 7);
	}
}

/* Down by the least, and up again: the same rungs, of which none but the first divides a second. */
static void rates_are_steps_of_one_ladder(void **state)
{
	static const uint32_t configured[] = { 19, 49, 97, 99, 100, 250, 499, 997, 999, 1000, 1999,
		25000 };

	for (size_t i = 0; i < ARRAY_SIZE(configured); i++) {
		struct rate_governor governor;
		uint32_t rungs[RUNGS_MAX];
		size_t count = 0;

		rate_governor_init(&governor, configured[i], 1000);
		while (governor.rate_hz > governor.floor_hz) {
			const struct rate_governor_use dear = { .elapsed_ns = PERIOD_NS,
				.cpu_count = 1,
				.sampling_ns = 10000001,
				.samples = (uint64_t)governor.rate_hz * 10 };

			assert_true(count < RUNGS_MAX);
			rungs[count++] = governor.rate_hz;
			for (int j = 0; j < FALL; j++)
				(void)rate_governor_run(&governor, &dear);
			assert_true(governor.rate_hz < rungs[count - 1]);
			assert_true(governor.rate_hz * 2 > rungs[count - 1]);
			assert_int_not_equal(1000 % governor.rate_hz, 0);
		}
		while (count > 0) {
			const struct rate_governor_use free = { .elapsed_ns = PERIOD_NS,
				.cpu_count = 1,
				.samples = (uint64_t)governor.rate_hz * 10 };
			uint32_t before = governor.rate_hz;

			for (int j = 0; j < 10 && governor.rate_hz == before; j++)
				(void)rate_governor_run(&governor, &free);
			assert_int_equal(governor.rate_hz, rungs[--count]);
		}
	}
}

static void without_a_budget_nothing_is_steered(void **state)
{
	struct rate_governor governor;
	struct machine machine = { .ns_a_sample = 1e6, .load = 1 };

	rate_governor_init(&governor, WANTED_HZ, 0);
	assert_int_equal(run(&governor, &machine, HOUR).changes, 0);
	assert_float_equal(rate_governor_cost_ppm(&governor), 99000, 1);
}

static void an_empty_interval_changes_nothing(void **state)
{
	struct rate_governor governor = new_governor();
	struct rate_governor_use use = { .cpu_count = CPUS, .sampling_ns = UINT64_MAX };

	assert_int_equal(rate_governor_run(&governor, &use), WANTED_HZ);
	use.elapsed_ns = PERIOD_NS;
	use.cpu_count = 0;
	assert_int_equal(rate_governor_run(&governor, &use), WANTED_HZ);
	assert_float_equal(rate_governor_cost_ppm(&governor), 0, 0);
	use.cpu_count = CPUS;
	use.samples = use.other_ns = UINT64_MAX;
	use.elapsed_ns = 3 * PERIOD_NS;
	assert_int_equal(rate_governor_run(&governor, &use), governor.floor_hz);
}

static void the_cost_is_averaged_over_a_minute(void **state)
{
	struct rate_governor governor = new_governor();
	struct machine machine = { .ns_a_sample = 5000, .load = 1, .other_ppm = 100 };

	(void)run(&governor, &machine, 1);
	assert_float_equal(rate_governor_cost_ppm(&governor), 595, 1);
	machine.other_ppm = 400;
	(void)run(&governor, &machine, 6);
	assert_float_equal(rate_governor_cost_ppm(&governor), 595 + 300 * (1 - 1 / 2.71828), 1);
	(void)run(&governor, &machine, 60);
	assert_float_equal(rate_governor_cost_ppm(&governor), 895, 1);
}

/* One period at the rate that holds. */
static uint32_t step(struct rate_governor *governor, struct machine *machine, uint32_t rate_hz)
{
	struct rate_governor_use use = use_of(machine, rate_hz);

	return rate_governor_run(governor, &use);
}

static void an_incident_raises_the_rate_for_a_while(void **state)
{
	struct rate_governor governor = new_governor();
	/* 99 Hz cost 198 ppm. */
	struct machine machine = { .ns_a_sample = 2000, .load = 1 };
	uint32_t rate_hz = step(&governor, &machine, WANTED_HZ);

	rate_governor_raise(&governor, 499, 3 * PERIOD_NS);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(governor.raised_hz, 499);
		rate_hz = step(&governor, &machine, governor.raised_hz);
	}
	assert_int_equal(rate_hz, WANTED_HZ);
	assert_int_equal(governor.raised_hz, 0);
	assert_int_equal(governor.rate_hz, WANTED_HZ);
}

static void the_budget_bounds_a_raised_rate(void **state)
{
	struct rate_governor governor = new_governor();
	/* 99 Hz cost 495 ppm, so 9/10 of the 1500 ppm are 270 Hz; the prime below is 269. */
	struct machine machine = { .ns_a_sample = 5000, .load = 1 };

	rate_governor_raise(&governor, 997, PERIOD_NS);
	assert_int_equal(governor.raised_hz, 0); /* the cost is unknown */
	(void)step(&governor, &machine, WANTED_HZ);
	rate_governor_raise(&governor, 997, 100 * PERIOD_NS);
	assert_in_range(governor.raised_hz, 250, 270);
	/* The load gets more expensive: it follows at once, and the other rate stays as it is. */
	machine.ns_a_sample = 10000;
	(void)step(&governor, &machine, governor.raised_hz);
	assert_in_range(governor.raised_hz, 120, 136);
	machine.ns_a_sample = 14000;
	(void)step(&governor, &machine, governor.raised_hz);
	assert_int_equal(governor.raised_hz, 0);
	assert_int_equal(governor.rate_hz, WANTED_HZ);
	/* No more than now is nothing. */
	rate_governor_raise(&governor, WANTED_HZ, PERIOD_NS);
	assert_int_equal(governor.raised_hz, 0);
}

/* What the raised rate costs does not lower the other one. */
static void a_raised_rate_is_not_held_against_the_usual_one(void **state)
{
	struct rate_governor governor = new_governor();
	struct machine machine = { .ns_a_sample = 5000, .load = 1 };

	(void)step(&governor, &machine, WANTED_HZ);
	rate_governor_raise(&governor, 997, HOUR * PERIOD_NS);
	for (int i = 0; i < HOUR; i++) {
		(void)step(&governor, &machine,
			governor.raised_hz ? governor.raised_hz : governor.rate_hz);
		assert_int_equal(governor.rate_hz, WANTED_HZ);
	}
	assert_in_range((int)rate_governor_cost_ppm(&governor), 1000, MAX_PPM);
}

/* The mean of the whole cost in ten minutes after an incident, on a machine whose load comes and
 * goes, for so many periods each. */
static double mean_after_incident(
	struct machine busy, unsigned length, uint32_t raise_hz, unsigned *raised)
{
	enum { BEFORE = 30, AFTER = 60 };
	struct rate_governor governor = new_governor();
	uint32_t rate_hz = WANTED_HZ;
	double mean_ppm = 0;

	for (unsigned i = 0; i < BEFORE + AFTER; i++) {
		struct rate_governor_use use;

		busy.load = i / length % 2 ? 0.1 : 1;
		use = use_of(&busy, rate_hz);
		if (i == BEFORE)
			rate_governor_raise(&governor, raise_hz, AFTER * PERIOD_NS);
		if (i >= BEFORE)
			mean_ppm += ppm_of(use.sampling_ns + use.other_ns) / AFTER;
		rate_hz = rate_governor_run(&governor, &use);
		*raised += governor.raised_hz > 0;
	}
	return mean_ppm;
}

/* What does not depend on the rate takes up to two thirds of the budget. */
static void an_incident_costs_no_more_than_the_budget(void **state)
{
	for (unsigned length = 1; length <= 100; length = length * 2 + 1)
		for (double other = 0; other < MAX_PPM * 2 / 3; other += 100)
			for (uint64_t seed = 1; seed <= 10; seed++) {
				const struct machine machine = { .ns_a_sample = 4000,
					.other_ppm = other,
					.noise = 0.3,
					.random = seed };
				unsigned raised = 0;

				assert_true(mean_after_incident(machine, length, 997, &raised) <=
					    MAX_PPM);
				assert_true(raised > 0);
			}
}

/* Nor is it raised at all while the usual rate costs more. */
static void what_exceeds_the_budget_is_not_raised(void **state)
{
	const struct machine machine = { .ns_a_sample = 4000, .other_ppm = 1.5 * MAX_PPM };
	unsigned raised = 0;

	(void)mean_after_incident(machine, 100, 997, &raised);
	assert_int_equal(raised, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_cheap_machine_keeps_the_configured_rate),
		cmocka_unit_test(an_expensive_machine_lowers_the_rate_soon),
		cmocka_unit_test(it_converges),
		cmocka_unit_test(noise_does_not_make_it_swing),
		cmocka_unit_test(it_recovers_from_a_burst),
		cmocka_unit_test(load_that_comes_and_goes_makes_fewer_and_fewer_changes),
		cmocka_unit_test(bursts_that_are_too_much_on_the_whole_lower_the_rate),
		cmocka_unit_test(bursts_that_are_within_the_budget_on_the_whole_pass),
		cmocka_unit_test(an_idle_machine_raises_the_rate_late),
		cmocka_unit_test(other_cpu_time_is_averaged),
		cmocka_unit_test(it_never_goes_below_the_floor),
		cmocka_unit_test(rates_are_steps_of_one_ladder),
		cmocka_unit_test(without_a_budget_nothing_is_steered),
		cmocka_unit_test(an_empty_interval_changes_nothing),
		cmocka_unit_test(the_cost_is_averaged_over_a_minute),
		cmocka_unit_test(an_incident_raises_the_rate_for_a_while),
		cmocka_unit_test(the_budget_bounds_a_raised_rate),
		cmocka_unit_test(a_raised_rate_is_not_held_against_the_usual_one),
		cmocka_unit_test(an_incident_costs_no_more_than_the_budget),
		cmocka_unit_test(what_exceeds_the_budget_is_not_raised),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
