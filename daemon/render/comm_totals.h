/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What each command (comm of a thread) cost, over all of its threads. Owned by whoever called
 * comm_totals_new(). Losses are not part of it, since nobody knows whose they are.
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
