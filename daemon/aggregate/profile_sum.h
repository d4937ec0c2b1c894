/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sums the profiles of several sources, of one window of time, into one profile, such as that of
 * wall-clock time. Samples of the parts may stand for different periods: those of the sum stand for
 * the shortest one, and amounts stay true to one sample. Names that the parts have are kept.
 */
#pragma once

#include "aggregate/profile.h"

#include <stddef.h>

/*
 * `parts` has `count` profiles, at least one, which have a period. The sum has the times and the
 * CPUs of the first, and the event `event`. Returns 0, -ENOMEM or -E2BIG (the budget is used up).
 */
int profile_sum_new(const struct profile *const *parts, size_t count, const char *event,
	size_t limit_bytes, struct profile **ret_sum);
