/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sums a profile of the kernel's memory by call site and by what was allocated there. A call site
 * is the function that called the allocator: the first one from the leaf that is not of the
 * allocator itself, as perf kmem has it. The caller of call_sites_new() owns the result; the
 * profile must outlive it.
 */
#pragma once

#include "base/output.h"
#include "render/frame_labels.h"

struct call_site {
	uint32_t memory; /* label: "[kmalloc-64]", "[dentry]" */
	uint32_t caller; /* label; FRAME_NONE: the stack has no other frame */
	size_t age;	 /* resolve/live_age.h; LIVE_AGES: unknown */
	uint64_t count;	 /* periods */
};

struct call_sites {
	struct frame_labels *labels;
	struct call_site *items; /* the greatest first, then by label */
	size_t count;
};

/* Returns 0, -ENOMEM or -E2BIG. */
int call_sites_new(const struct profile *profile, struct call_sites **ret_sites);
void call_sites_free(struct call_sites *sites);
DEFINE_CLEANUP(struct call_sites, call_sites_free);

/*
 * Writes a line for each call site, with tabs between its amount in the event's unit, what was
 * allocated, and the function: "4096\t[kmalloc-64]\tvfs_open". "-" stands for no function. Of what
 * lives, a fourth column tells its age, and a call site has a line for each: "[age 1 s to 10 s]". A
 * loss is a line, too: "4096\t[lost: ring full]\t-". Two lines before begin with "# ": the event,
 * and the names of the columns. Returns as call_sites_new().
 */
int call_sites_write(const struct profile *profile, struct output *output);
