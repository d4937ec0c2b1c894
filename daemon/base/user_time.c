/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/user_time.h"

#include "base/hash_index.h"

enum { PPM = 1000000 };

static uint64_t bucket_of(uint64_t user)
{
	return hash_pair(user, 0) % USER_SHARE_COUNTERS;
}

uint64_t user_time_level(const struct user_time *time, uint64_t user, uint64_t now_ns)
{
	const struct user_bucket *bucket = &time->buckets[bucket_of(user)];
	uint64_t leaked_ns = (now_ns - bucket->at_ns) / PPM * time->leak_ppm;

	return bucket->level_ns > leaked_ns ? bucket->level_ns - leaked_ns : 0;
}

bool user_time_is_over(const struct user_time *time, uint64_t user, uint64_t now_ns)
{
	return time->burst_ns > 0 && user_time_level(time, user, now_ns) >= time->burst_ns;
}

void user_time_add(struct user_time *time, uint64_t user, uint64_t spent_ns, uint64_t now_ns)
{
	struct user_bucket *bucket = &time->buckets[bucket_of(user)];

	bucket->level_ns = user_time_level(time, user, now_ns) + spent_ns;
	bucket->user = user;
	bucket->at_ns = now_ns;
}
