/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The cost of each command (comm of a thread) over all of its threads. The caller of
 * comm_totals_new() owns the result. Losses are not included, since their threads are unknown.
 */
#pragma once

#include "aggregate/profile.h"

struct comm_total {
	uint32_t comm; /* string of the profile */
	uint64_t samples;
};

struct comm_totals {
	struct comm_total *items; /* the greatest first, then by name; samples are never 0 */
	size_t count;
	uint64_t samples;     /* in all */
	size_t process_count; /* distinct (tgid, start) that have samples */
};

/* Returns 0 or -ENOMEM. */
int comm_totals_new(const struct profile *profile, struct comm_totals **ret_totals);
void comm_totals_free(struct comm_totals *totals);
DEFINE_CLEANUP(struct comm_totals, comm_totals_free);
