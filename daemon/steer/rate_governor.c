/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "steer/rate_governor.h"

#include <assert.h>
#include <math.h>

enum {
	AVERAGE_S = 60,
	OTHER_S = 600,
	/* A busy period counts BUSY_UNITS, an idle one counts 1: an idle period says little about
	 * the cost under the next load. */
	BUSY_UNITS = 8,
	CALM_UNITS_MIN = 6 * BUSY_UNITS,
	CALM_UNITS_MAX = 64 * CALM_UNITS_MIN,
	IDLE_SHARE = 16,     /* idle: fewer than 1/16 of the samples of fully busy CPUs */
	OTHER_SHARE_MIN = 2, /* sampling always gets at least 1/2 of the budget */
};

/* The rate falls after this much time above the budget, less the time paid back. */
#define OVER_NS 25000000000ULL

/* A new rate aims at this part of the allowance, so that noise does not exceed it. */
static const double AIM = 0.9;

/* At most 2^15 steps: half the root of a 32-bit number. */
static bool is_prime(uint32_t n)
{
	if (n % 2 == 0)
		return n == 2;
	for (uint32_t i = 3; (uint64_t)i * i <= n; i += 2)
		if (n % i == 0)
			return false;
	return n > 1;
}

/* The next rung below; the floor is the last. */
static uint32_t rung_below(const struct rate_governor *governor, uint32_t rate_hz)
{
	uint32_t rung = (uint32_t)((uint64_t)rate_hz * 17 / 20);

	while (rung > governor->floor_hz && !is_prime(rung))
		rung--;
	return rung > governor->floor_hz ? rung : governor->floor_hz;
}

/* The highest rung that is not above `limit_hz`, or the floor. */
static uint32_t rung_at_most(const struct rate_governor *governor, double limit_hz)
{
	uint32_t rung = governor->configured_hz;

	while (rung > limit_hz && rung > governor->floor_hz)
		rung = rung_below(governor, rung);
	return rung;
}

/* The next rung above the rate; the configured rate is the last. */
static uint32_t rung_above(const struct rate_governor *governor)
{
	uint32_t rung = governor->configured_hz, below;

	while (rung > governor->floor_hz) {
		below = rung_below(governor, rung);
		if (below <= governor->rate_hz)
			break;
		rung = below;
	}
	return rung;
}

void rate_governor_init(struct rate_governor *governor, uint32_t configured_hz, uint64_t max_ppm)
{
	assert(configured_hz > 0);
	*governor = (struct rate_governor){
		.configured_hz = configured_hz,
		.floor_hz = configured_hz < RATE_GOVERNOR_FLOOR_HZ ? configured_hz
								   : RATE_GOVERNOR_FLOOR_HZ,
		.max_ppm = max_ppm,
		.rate_hz = configured_hz,
		.calm_needed = CALM_UNITS_MIN,
	};
}

/* The weight of one period in a moving average over `over_s`. */
static double weight(uint64_t elapsed_ns, unsigned over_s)
{
	return 1 - exp(-(double)elapsed_ns / 1e9 / over_s);
}

static double ppm(const struct rate_governor_use *use, uint64_t used_ns)
{
	return (double)used_ns * 1e6 / (double)use->elapsed_ns / use->cpu_count;
}

static void fall(struct rate_governor *governor, uint32_t rate_hz)
{
	governor->rate_hz = rate_hz;
	governor->calm_units = 0;
	if (governor->has_risen && governor->calm_needed < CALM_UNITS_MAX)
		governor->calm_needed *= 2;
	governor->has_risen = false;
}

/* The last step up has held for the whole calm period, so halve the next one. */
static void rise(struct rate_governor *governor, uint32_t rate_hz)
{
	if (governor->has_risen && governor->calm_needed > CALM_UNITS_MIN)
		governor->calm_needed /= 2;
	governor->has_risen = rate_hz > governor->rate_hz;
	governor->rate_hz = rate_hz;
	governor->calm_units = 0;
}

static uint32_t current_hz(const struct rate_governor *governor)
{
	return governor->raised_hz ? governor->raised_hz : governor->rate_hz;
}

static unsigned units_of(const struct rate_governor *governor, const struct rate_governor_use *use)
{
	double possible =
		(double)current_hz(governor) * use->cpu_count * (double)use->elapsed_ns / 1e9;

	return (double)use->samples * IDLE_SHARE < possible ? 1 : BUSY_UNITS;
}

/* Bursts pass: unwind tables of new programs, one odd load. So the lowest cost of the whole time
 * above the allowance decides the new rate. */
static void exceed(struct rate_governor *governor, const struct rate_governor_use *use,
	double sampling, double allowed)
{
	if (governor->over_ns == 0 || sampling < governor->over_ppm)
		governor->over_ppm = sampling;
	governor->over_ns += use->elapsed_ns;
	governor->calm_units = 0;
	if (governor->over_ns < OVER_NS)
		return;
	governor->over_ns = 0;
	fall(governor,
		rung_at_most(governor, governor->rate_hz * allowed * AIM / governor->over_ppm));
}

/* Tolerates an intermittent load that stays within the budget on average. The unused allowance of
 * this period pays back time above it, at the rate of the lowest excess. */
static void pay_back(struct rate_governor *governor, const struct rate_governor_use *use,
	double sampling, double allowed)
{
	double excess = governor->over_ppm - allowed;
	double paid_ns = (double)use->elapsed_ns * (allowed - sampling);

	/* excess <= 0: the allowance has grown meanwhile. */
	if (excess <= 0 || paid_ns >= excess * (double)governor->over_ns)
		governor->over_ns = 0;
	else
		governor->over_ns -= (uint64_t)(paid_ns / excess);
}

static double allowed_ppm(const struct rate_governor *governor)
{
	double max = (double)governor->max_ppm;

	return fmax(max - governor->other_ppm, max / OTHER_SHARE_MIN);
}

/* `sampling` is the cost at the rate that is not raised. */
static void steer(
	struct rate_governor *governor, const struct rate_governor_use *use, double sampling)
{
	double allowed = allowed_ppm(governor);
	uint32_t next = rung_above(governor);

	if (sampling > allowed) {
		exceed(governor, use, sampling, allowed);
		return;
	}
	pay_back(governor, use, sampling, allowed);
	if (sampling * next > allowed * AIM * governor->rate_hz) {
		governor->calm_units = 0;
		return;
	}
	governor->calm_units += units_of(governor, use);
	if (governor->calm_units >= governor->calm_needed)
		rise(governor, next);
}

/* The cost grows with the rate. */
static void set_raised(struct rate_governor *governor)
{
	double limit_hz = governor->raise_hz;
	uint32_t hz;

	governor->raised_hz = 0;
	if (governor->raise_ns == 0)
		return;
	if (governor->max_ppm) {
		double max = (double)governor->max_ppm;
		double hertz_ppm = fmax(governor->hertz_ppm, governor->minute_hertz_ppm);

		if (hertz_ppm <= 0 || governor->average_ppm > max)
			return;
		limit_hz =
			fmin(limit_hz, fmax(max * AIM - governor->minute_other_ppm, 0) / hertz_ppm);
	}
	hz = (uint32_t)limit_hz;
	while (hz > governor->rate_hz && !is_prime(hz))
		hz--;
	if (hz > governor->rate_hz)
		governor->raised_hz = hz;
}

void rate_governor_raise(struct rate_governor *governor, uint32_t raise_hz, uint64_t for_ns)
{
	governor->raise_hz = raise_hz;
	governor->raise_ns = for_ns;
	set_raised(governor);
}

static void average(struct rate_governor *governor, const struct rate_governor_use *use,
	double sampling, double other)
{
	/* The first period is its own average. */
	const double minute = governor->has_average ? weight(use->elapsed_ns, AVERAGE_S) : 1;

	governor->has_average = true;
	governor->hertz_ppm = sampling / current_hz(governor);
	governor->minute_hertz_ppm += minute * (governor->hertz_ppm - governor->minute_hertz_ppm);
	governor->average_ppm += minute * (sampling + other - governor->average_ppm);
	governor->minute_other_ppm += minute * (other - governor->minute_other_ppm);
	governor->other_ppm += weight(use->elapsed_ns, OTHER_S) * (other - governor->other_ppm);
}

uint32_t rate_governor_run(struct rate_governor *governor, const struct rate_governor_use *use)
{
	if (use->elapsed_ns == 0 || use->cpu_count == 0)
		return current_hz(governor);
	average(governor, use, ppm(use, use->sampling_ns), ppm(use, use->other_ns));
	if (governor->max_ppm)
		steer(governor, use, governor->hertz_ppm * governor->rate_hz);
	governor->raise_ns -=
		governor->raise_ns < use->elapsed_ns ? governor->raise_ns : use->elapsed_ns;
	set_raised(governor);
	return current_hz(governor);
}

double rate_governor_cost_ppm(const struct rate_governor *governor)
{
	return governor->average_ppm;
}
