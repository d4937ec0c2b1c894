/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "query/profile_difference.h"

#include "base/event_source.h"

#include <errno.h>
#include <math.h>
#include <string.h>

enum { MILLIONTHS = 1000000, CERTAIN_ERRORS = 3 };

static uint64_t saturate(unsigned __int128 value, uint64_t limit)
{
	return value > limit ? limit : (uint64_t)value;
}

static uint64_t all_samples(const struct profile *profile)
{
	unsigned __int128 sum = accounts_lost(&profile->accounts);

	for (size_t i = 0; i < profile->samples.count; i++)
		sum += profile->samples.items[i].count;
	return saturate(sum, UINT64_MAX);
}

static const char *event_of(const struct profile *profile)
{
	return string_pool_get(&profile->strings, profile->event);
}

static bool is_cpu(const struct profile *profile)
{
	return event_source_is_cpu(event_source_of(event_of(profile)));
}

/* A profile without samples may lack an event. */
static bool is_time(const struct profile_difference *difference)
{
	const char *event = event_of(difference->sides[DIFFERENCE_COMPARED]);

	if (!event[0])
		event = event_of(difference->sides[DIFFERENCE_BASE]);
	return event_source_unit(event_source_of(event)) == EVENT_UNIT_TIME;
}

static unsigned __int128 possible_cpu_ns(const struct profile *profile)
{
	if (profile->possible_cpu_ns > 0)
		return profile->possible_cpu_ns;
	return (unsigned __int128)(profile->end_ns - profile->start_ns) * profile->cpu_count;
}

static uint64_t recorded_ns(const struct profile *profile)
{
	return profile->covered_ns > 0 ? profile->covered_ns : profile->end_ns - profile->start_ns;
}

/* The CPU time of all CPUs, or the time of one thread, in sampling periods; 0: unknown. */
static uint64_t possible_millionths(const struct profile *profile)
{
	unsigned __int128 ns;

	if (profile->period_ns == 0 || profile->end_ns <= profile->start_ns)
		return 0;
	ns = is_cpu(profile) ? possible_cpu_ns(profile) : recorded_ns(profile);
	return saturate(ns * MILLIONTHS / profile->period_ns, UINT64_MAX);
}

/*
 * Of bytes and events no amount is possible at most. So the whole is the base's, in the time of
 * each side; or the compared side's, if the base has none.
 */
static void set_wholes_by_rate(struct profile_difference *difference)
{
	const struct profile *const *sides = difference->sides;
	const enum difference_side from =
		difference->samples[DIFFERENCE_BASE] > 0 ? DIFFERENCE_BASE : DIFFERENCE_COMPARED;
	const long double amount = (long double)difference->samples[from] * sides[from]->period_ns *
				   MILLIONTHS / recorded_ns(sides[from]);

	for (enum difference_side i = 0; i < DIFFERENCE_SIDE_COUNT; i++) {
		long double whole = amount * recorded_ns(sides[i]) / sides[i]->period_ns + 0.5L;

		difference->whole_millionths[i] =
			whole < (long double)UINT64_MAX ? (uint64_t)whole : UINT64_MAX;
	}
}

int profile_difference_init(struct profile_difference *ret_difference, const struct profile *base,
	const struct profile *compared, enum difference_whole whole, struct fault *fault)
{
	struct profile_difference difference = { .sides = { base, compared }, .whole = whole };

	/* A profile without samples may lack an event. */
	if (event_of(base)[0] && event_of(compared)[0] &&
		strcmp(event_of(base), event_of(compared)) != 0)
		return fault_set(fault, -EINVAL,
			"The base profile has the event \"%.40s\", the compared profile \"%.40s\"; "
			"samples of different events cannot be compared. Choose one with event.",
			event_of(base), event_of(compared));
	for (enum difference_side i = 0; i < DIFFERENCE_SIDE_COUNT; i++) {
		const struct profile *profile = difference.sides[i];

		difference.samples[i] = all_samples(profile);
		if (whole == DIFFERENCE_BY_TOTAL) {
			difference.whole_millionths[i] = saturate(
				(unsigned __int128)difference.samples[i] * MILLIONTHS, UINT64_MAX);
			continue;
		}
		difference.whole_millionths[i] = possible_millionths(profile);
		if (difference.whole_millionths[i] == 0)
			return fault_set(fault, -EINVAL,
				"The %s profile lacks its time span, period or number of CPUs, "
				"which a comparison by time needs. Compare by total instead.",
				i == DIFFERENCE_BASE ? "base" : "compared");
	}
	if (whole == DIFFERENCE_BY_TIME && !is_time(&difference))
		set_wholes_by_rate(&difference);
	*ret_difference = difference;
	return 0;
}

bool profile_difference_is_cpu(const struct profile_difference *difference)
{
	return is_cpu(difference->sides[DIFFERENCE_COMPARED]);
}

bool profile_difference_is_time(const struct profile_difference *difference)
{
	return is_time(difference);
}

int64_t profile_difference_share(
	const struct profile_difference *difference, enum difference_side side, uint64_t samples)
{
	uint64_t whole = difference->whole_millionths[side];
	unsigned __int128 parts =
		(unsigned __int128)samples * ((uint64_t)DIFFERENCE_SHARE_ONE * MILLIONTHS);

	if (whole == 0)
		return 0;
	return (int64_t)saturate((parts + whole / 2) / whole, INT64_MAX);
}

int64_t profile_difference_change(
	const struct profile_difference *difference, const uint64_t samples[DIFFERENCE_SIDE_COUNT])
{
	return profile_difference_share(
		       difference, DIFFERENCE_COMPARED, samples[DIFFERENCE_COMPARED]) -
	       profile_difference_share(difference, DIFFERENCE_BASE, samples[DIFFERENCE_BASE]);
}

/* A change as parts of 1, and its variance. */
struct change {
	double by, variance, base;
};

/* Returns false if there is nothing to compare. */
static bool measure(const struct profile_difference *difference,
	const uint64_t samples[DIFFERENCE_SIDE_COUNT], struct change *ret_change)
{
	const double base_whole =
		(double)difference->whole_millionths[DIFFERENCE_BASE] / MILLIONTHS;
	const double compared_whole =
		(double)difference->whole_millionths[DIFFERENCE_COMPARED] / MILLIONTHS;
	const double base = (double)samples[DIFFERENCE_BASE];
	const double compared = (double)samples[DIFFERENCE_COMPARED];
	double share, variance;

	if (base_whole <= 0 || compared_whole <= 0)
		return false;
	/* By time, a side without samples tells that it had none. */
	if (difference->whole == DIFFERENCE_BY_TOTAL &&
		(difference->samples[DIFFERENCE_BASE] == 0 ||
			difference->samples[DIFFERENCE_COMPARED] == 0))
		return false;
	/* As if both were the same load: the share and its error by all samples of both. */
	share = (base + compared) / (base_whole + compared_whole);
	variance = share * (1 / base_whole + 1 / compared_whole);
	if (difference->whole == DIFFERENCE_BY_TOTAL)
		variance *= 1 - share;
	*ret_change = (struct change){
		.by = compared / compared_whole - base / base_whole,
		.variance = variance,
		.base = base / base_whole,
	};
	return true;
}

bool profile_difference_is_certain(
	const struct profile_difference *difference, const uint64_t samples[DIFFERENCE_SIDE_COUNT])
{
	struct change change;

	return measure(difference, samples, &change) &&
	       change.by * change.by > CERTAIN_ERRORS * CERTAIN_ERRORS * change.variance;
}

double profile_difference_surprise(
	const struct profile_difference *difference, const uint64_t samples[DIFFERENCE_SIDE_COUNT])
{
	struct change change;

	if (!measure(difference, samples, &change) || change.by == 0)
		return 0;
	return change.by / sqrt(change.variance + change.base * change.base / 4);
}
