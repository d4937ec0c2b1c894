/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The samples of a window by cgroup, the busiest first. */
#pragma once

#include "aggregate/profile.h"

#include <stddef.h>
#include <stdint.h>

struct cgroup_usage {
	struct cgroup_usage_item {
		uint32_t cgroup; /* a string of the profile; never 0, unknown */
		uint64_t samples;
	} * items; /* owned */
	size_t count;
};

/* Returns 0 or -ENOMEM. */
int cgroup_usage_init(struct cgroup_usage *usage, const struct profile *window);
void cgroup_usage_done(struct cgroup_usage *usage);
