/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "broker/request_rate.h"

#include "base/clock.h"

#include <errno.h>
#include <stddef.h>
#include <sys/mman.h>

static const uint64_t share_ns = NSEC_PER_SEC / REQUEST_RATE_PER_S;

int request_rate_new(struct request_rate **ret_rate)
{
	void *memory = mmap(NULL, sizeof(**ret_rate), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return -errno;
	*ret_rate = memory;
	return 0;
}

void request_rate_free(struct request_rate *rate)
{
	if (rate)
		(void)munmap(rate, sizeof(*rate));
}

/* What is taken from a bucket at `now_ns` and has not been refilled. */
static uint64_t taken_ns(uint64_t paid_until_ns, uint64_t now_ns)
{
	return paid_until_ns > now_ns ? paid_until_ns - now_ns : 0;
}

bool request_rate_take(struct request_rate *rate, uint64_t user, uint64_t now_ns)
{
	uint64_t *user_paid_until_ns = &rate->users_paid_until_ns[user_share_counter(user)];
	struct user_share share = {
		.capacity = REQUEST_RATE_BURST * share_ns,
		.used = taken_ns(rate->paid_until_ns, now_ns),
	};
	uint64_t user_ns = taken_ns(*user_paid_until_ns, now_ns);

	share.counters[user_share_counter(user)].held = user_ns;
	if (!user_share_has_room(&share, user, share_ns)) {
		rate->refused++;
		return false;
	}
	rate->paid_until_ns = now_ns + share.used + share_ns;
	*user_paid_until_ns = now_ns + user_ns + share_ns;
	return true;
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
