/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/user_time.h"

enum { PPM = 1000000 };

uint64_t user_time_level(const struct user_time *time, uint64_t user, uint64_t now_ns)
{
	const struct user_bucket *bucket = &time->buckets[user_share_counter(user)];
	uint64_t leaked_ns = (now_ns - bucket->at_ns) / PPM * time->leak_ppm;

	return bucket->level_ns > leaked_ns ? bucket->level_ns - leaked_ns : 0;
}

bool user_time_is_over(const struct user_time *time, uint64_t user, uint64_t now_ns)
{
	return time->burst_ns > 0 && user_time_level(time, user, now_ns) >= time->burst_ns;
}

void user_time_add(struct user_time *time, uint64_t user, uint64_t spent_ns, uint64_t now_ns)
{
	struct user_bucket *bucket = &time->buckets[user_share_counter(user)];

	bucket->level_ns = user_time_level(time, user, now_ns) + spent_ns;
	bucket->user = user;
	bucket->at_ns = now_ns;
}
