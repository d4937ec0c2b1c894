/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "broker/request_rate.h"

#include "base/clock.h"

#include <errno.h>
#include <stddef.h>
#include <sys/mman.h>

static const uint64_t share_ns = NSEC_PER_SEC / REQUEST_RATE_PER_S;

static uint64_t min_of(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

int request_rate_new(struct request_rate **ret_rate)
{
	void *memory = mmap(NULL, sizeof(**ret_rate), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return -errno;
	*ret_rate = memory;
	(*ret_rate)->share.capacity = REQUEST_RATE_BURST * share_ns;
	return 0;
}

void request_rate_free(struct request_rate *rate)
{
	if (rate)
		(void)munmap(rate, sizeof(*rate));
}

/*
 * Gives back what time has refilled: the same to each user who has taken something. So the users'
 * parts always add up to what is taken.
 */
static void refill(struct request_rate *rate, uint64_t now_ns)
{
	struct user_share *share = &rate->share;
	uint64_t left_ns = now_ns > rate->refilled_ns ? now_ns - rate->refilled_ns : 0;

	rate->refilled_ns += left_ns;
	while (left_ns > 0) {
		uint64_t users = 0, part_ns;

		for (size_t i = 0; i < USER_SHARE_COUNTERS; i++)
			users += share->counters[i].held > 0;
		if (users == 0) {
			/* An opener may have been killed between two changes. */
			share->used = 0;
			return;
		}
		part_ns = left_ns / users + 1;
		for (size_t i = 0; i < USER_SHARE_COUNTERS; i++) {
			uint64_t n = min_of(min_of(share->counters[i].held, part_ns), left_ns);

			share->counters[i].held -= n;
			share->used -= min_of(share->used, n);
			left_ns -= n;
		}
	}
}

bool request_rate_take(struct request_rate *rate, uint64_t user, uint64_t now_ns)
{
	refill(rate, now_ns);
	if (!user_share_has_room(&rate->share, user, share_ns)) {
		rate->refused++;
		return false;
	}
	user_share_add(&rate->share, user, share_ns);
	return true;
}

/* What is taken from a bucket at `now_ns` and has not been refilled. */
static uint64_t taken_ns(uint64_t paid_until_ns, uint64_t now_ns)
{
	return paid_until_ns > now_ns ? paid_until_ns - now_ns : 0;
}

bool request_rate_take_fetch(struct request_rate *rate, uint64_t now_ns)
{
	const uint64_t fetch_ns = NSEC_PER_SEC / REQUEST_RATE_FETCHES_PER_S;
	uint64_t used_ns = taken_ns(rate->fetches_paid_until_ns, now_ns);

	if (used_ns > (REQUEST_RATE_FETCHES_BURST - 1) * fetch_ns)
		return false;
	rate->fetches_paid_until_ns = now_ns + used_ns + fetch_ns;
	return true;
}
