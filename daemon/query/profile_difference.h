/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Two profiles side by side: the base, and the one that is compared with it. Their samples cannot
 * be subtracted as they are, since one may have run for longer, at another rate or on more CPUs: so
 * samples are told as a share of a whole, of which each profile has its own.
 *
 * By total the whole is all samples of the profile, stored and lost (I1): what a function's part in
 * the work is, however much work there was. By time it is every sample that the CPUs could have
 * given while it was recorded: CPU time per CPU-second, so that more work shows as more.
 *
 * What is the same on both sides is not decided here. Addresses differ between builds, so render
 * matches frames by the names that it shows. Plain values; the profiles are borrowed.
 */
#pragma once

#include "aggregate/profile.h"
#include "base/fault.h"

enum difference_side {
	DIFFERENCE_BASE,
	DIFFERENCE_COMPARED,
	DIFFERENCE_SIDE_COUNT,
};

static inline enum difference_side difference_other(enum difference_side side)
{
	return side == DIFFERENCE_BASE ? DIFFERENCE_COMPARED : DIFFERENCE_BASE;
}

enum difference_whole {
	DIFFERENCE_BY_TOTAL,
	DIFFERENCE_BY_TIME,
};

enum { DIFFERENCE_SHARE_ONE = 1000000000 }; /* the whole, in the unit of shares and changes */

struct profile_difference {
	const struct profile *sides[DIFFERENCE_SIDE_COUNT];
	uint64_t samples[DIFFERENCE_SIDE_COUNT]; /* stored and lost */
	/* What is 100 %, in millionths of a sample; 0: there are no samples. */
	uint64_t whole_millionths[DIFFERENCE_SIDE_COUNT];
	enum difference_whole whole;
};

/*
 * Returns 0; -EINVAL where they are of two events, or, by time, where the span, the period or the
 * number of CPUs of a profile is not known. The fault says which profile's.
 */
int profile_difference_init(struct profile_difference *ret_difference, const struct profile *base,
	const struct profile *compared, enum difference_whole whole, struct fault *fault);

/* In billionths of the side's whole, rounded to the nearest; INT64_MAX at most. */
int64_t profile_difference_share(
	const struct profile_difference *difference, enum difference_side side, uint64_t samples);

/* The share of the compared less that of the base: above 0, there is more of it. */
int64_t profile_difference_change(
	const struct profile_difference *difference, const uint64_t samples[DIFFERENCE_SIDE_COUNT]);
