/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CPU time that is spent on users' files. Each user has a leaky bucket: time flows in as it is
 * spent, and leaks at a steady rate. The user whose bucket is the least full comes next; one whose
 * bucket is full waits. So one user's files cost that user's time only (I4).
 *
 * The buckets are placed as the counters of base/user_share.h. Not thread-safe.
 */
#pragma once

#include "base/user_share.h"

#include <stdbool.h>
#include <stdint.h>

/* Initialize with the bounds and zeros. */
struct user_time {
	uint64_t burst_ns; /* a bucket's size; 0: no bound */
	uint32_t leak_ppm; /* of one CPU */
	struct user_bucket {
		uint64_t user, level_ns, at_ns;
	} buckets[USER_SHARE_COUNTERS];
};

/* What is left in the user's bucket. `now_ns` is any clock's, and ascends. */
uint64_t user_time_level(const struct user_time *time, uint64_t user, uint64_t now_ns);

bool user_time_is_over(const struct user_time *time, uint64_t user, uint64_t now_ns);

void user_time_add(struct user_time *time, uint64_t user, uint64_t spent_ns, uint64_t now_ns);
