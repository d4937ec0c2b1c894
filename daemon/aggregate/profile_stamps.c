/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "aggregate/profile.h"

#include <stdlib.h>

static int compare_stamps(const void *a, const void *b)
{
	const struct profile_stamp *x = a, *y = b;

	if (x->sample != y->sample)
		return x->sample < y->sample ? -1 : 1;
	return (x->time_ns > y->time_ns) - (x->time_ns < y->time_ns);
}

/* The profile began after its first slice did, and its last may end after it. */
static uint64_t time_of(const struct profile *profile, const struct profile_time *time)
{
	const uint64_t start_ns = profile->start_ns - profile->start_ns % PROFILE_SLICE_NS +
				  (uint64_t)time->slice * PROFILE_SLICE_NS;

	if (start_ns < profile->start_ns)
		return profile->start_ns;
	return start_ns < profile->end_ns ? start_ns : profile->end_ns - 1;
}

void profile_stamp_times(struct profile *profile)
{
	for (size_t i = 0; i < profile->last_times.count; i++) {
		struct profile_sample sample = profile->samples.items[i];
		uint32_t at = profile->last_times.items[i];

		for (; at > 0; at = profile->times.items[at - 1].before) {
			sample.count = profile->times.items[at - 1].count;
			profile_note_stamp(
				profile, &sample, time_of(profile, &profile->times.items[at - 1]));
		}
	}
	profile_sort_stamps(profile);
}

void profile_sort_stamps(struct profile *profile)
{
	struct profile_stamp *stamps = profile->stamps.items;
	size_t kept = 0;
	uint64_t left = 0;

	if (profile->stamps.count > 0)
		qsort(stamps, profile->stamps.count, sizeof(*stamps), compare_stamps);
	for (size_t i = 0; i < profile->stamps.count; i++) {
		struct profile_stamp stamp = stamps[i];

		if (i == 0 || kept == 0 || stamps[kept - 1].sample != stamp.sample)
			left = profile->samples.items[stamp.sample].count;
		/* Sums of damaged counts are saturated. */
		if (stamp.count > left)
			stamp.count = left;
		left -= stamp.count;
		if (kept > 0 && compare_stamps(&stamps[kept - 1], &stamp) == 0)
			stamps[kept - 1].count += stamp.count;
		else if (stamp.count > 0)
			stamps[kept++] = stamp;
	}
	profile->stamps.count = kept;
}

const struct profile_stamp *profile_stamps_of(
	const struct profile *profile, uint32_t sample, size_t *ret_count)
{
	const struct profile_stamp *stamps = profile->stamps.items;
	size_t first = 0, end = profile->stamps.count;

	while (first < end) {
		size_t middle = first + (end - first) / 2;

		if (stamps[middle].sample < sample)
			first = middle + 1;
		else
			end = middle;
	}
	while (end < profile->stamps.count && stamps[end].sample == sample)
		end++;
	*ret_count = end - first;
	return end > first ? &stamps[first] : NULL;
}
