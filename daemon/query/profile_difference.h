/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Compares two profiles, the base and the compared one. Sample counts cannot be subtracted
 * directly, since one profile may be longer, at another rate or of more CPUs. Samples are therefore
 * expressed as a share of each profile's own whole.
 *
 * By total, the whole is all samples of the profile, stored and lost (I1): a function's part of the
 * work, however much work there was. By time, the whole is every sample that the CPUs could have
 * given during the recording: CPU time per CPU-second, so that more work shows as more. For other
 * times than CPU time, the whole is one thread's samples: seconds blocked in a second. For bytes
 * and events, it is all that the base had in the same time.
 *
 * Matching the two sides is render's task: addresses differ between builds, so render matches
 * frames by the names that it shows. Plain values; the profiles are borrowed.
 */
#pragma once

#include "aggregate/profile.h"
#include "base/fault.h"

enum difference_side {
	DIFFERENCE_BASE,
	DIFFERENCE_COMPARED,
	DIFFERENCE_SIDE_COUNT,
};

enum difference_whole {
	DIFFERENCE_BY_TOTAL,
	DIFFERENCE_BY_TIME,
};

enum { DIFFERENCE_SHARE_ONE = 1000000000 }; /* the whole, in the unit of shares and changes */

struct profile_difference {
	const struct profile *sides[DIFFERENCE_SIDE_COUNT];
	uint64_t samples[DIFFERENCE_SIDE_COUNT]; /* stored and lost */
	/* 100 %, in millionths of a sample; 0: there are no samples. */
	uint64_t whole_millionths[DIFFERENCE_SIDE_COUNT];
	enum difference_whole whole;
	bool is_of_incident; /* rank unusual changes above great ones; set by the caller */
};

/*
 * Returns 0, or -EINVAL if the events differ or, by time, if the span, the period or the number of
 * CPUs of a profile is unknown. The fault names the profile.
 */
int profile_difference_init(struct profile_difference *ret_difference, const struct profile *base,
	const struct profile *compared, enum difference_whole whole, struct fault *fault);

/* Is it a difference of CPU time, or of any time? */
bool profile_difference_is_cpu(const struct profile_difference *difference);
bool profile_difference_is_time(const struct profile_difference *difference);

/* In billionths of the side's whole, rounded to the nearest; at most INT64_MAX. */
int64_t profile_difference_share(
	const struct profile_difference *difference, enum difference_side side, uint64_t samples);

/*
 * Does the change exceed three times the standard error of sampling? Of 1,000 frames of a load that
 * stayed the same, fewer than 3 do by chance. The error assumes that samples are independent; a
 * sample that stands for several periods counts as several, so its error is greater than assumed.
 * Without samples on one of the sides nothing is certain by total.
 */
bool profile_difference_is_certain(
	const struct profile_difference *difference, const uint64_t samples[DIFFERENCE_SIDE_COUNT]);

/*
 * By how many errors more than usual the compared side has; below 0: less. The usual error is that
 * of sampling, and half of what the base has: a load that is always there may vary so much in a
 * short time, and what is new stands out.
 */
double profile_difference_surprise(
	const struct profile_difference *difference, const uint64_t samples[DIFFERENCE_SIDE_COUNT]);

/* The compared share minus the base share; above 0: more than in the base. */
int64_t profile_difference_change(
	const struct profile_difference *difference, const uint64_t samples[DIFFERENCE_SIDE_COUNT]);
