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

bool request_rate_take(struct request_rate *rate, uint64_t now_ns)
{
	uint64_t from_ns = rate->paid_until_ns > now_ns ? rate->paid_until_ns : now_ns;

	if (from_ns - now_ns > (REQUEST_RATE_BURST - 1) * share_ns) {
		rate->refused++;
		return false;
	}
	rate->paid_until_ns = from_ns + share_ns;
	return true;
}
