/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The profiles of one window of time, one for each source that is sampled. */
#pragma once

#include "aggregate/profile.h"
#include "base/event_source.h"
#include "pilotlight/event.h"

struct profile_set {
	struct profile *of[PILOTLIGHT_SOURCES]; /* owned; NULL: the source is off */
};

static inline void profile_set_done(struct profile_set *set)
{
	for (size_t i = 0; i < PILOTLIGHT_SOURCES; i++)
		profile_free(set->of[i]);
	*set = (struct profile_set){ 0 };
}

static inline size_t profile_set_bytes(const struct profile_set *set)
{
	size_t bytes = 0;

	for (size_t i = 0; i < PILOTLIGHT_SOURCES; i++)
		bytes += set->of[i] ? profile_bytes(set->of[i]) : 0;
	return bytes;
}

/* The accounts of the profiles; zeros of sources that are off, and of what lives: it is in many
 * windows, so those of a window are no part of a total. */
static inline void profile_set_accounts(
	const struct profile_set *set, struct source_accounts *ret_accounts)
{
	for (size_t i = 0; i < PILOTLIGHT_SOURCES; i++)
		ret_accounts->of[i] = set->of[i] && !event_sources[i].is_live
					      ? set->of[i]->accounts
					      : (struct accounts){ 0 };
}
