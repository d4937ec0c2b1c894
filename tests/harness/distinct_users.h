/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Users who share no counter of a struct user_share: two of them would count as one. */
#pragma once

#include "base/user_share.h"

/* Returns the first user from `from` on whose counter none of `seen` has, and adds it to `seen`. */
static inline uint64_t distinct_user(struct user_share *seen, uint64_t from)
{
	while (user_share_held(seen, from) > 0)
		from++;
	user_share_add(seen, from, 1);
	return from;
}
