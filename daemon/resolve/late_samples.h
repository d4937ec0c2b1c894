/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Samples whose stacks go through JIT code wait here for its names (I3): a runtime buffers what it
 * writes of its functions, and the hottest one may be told of last. A sample goes on, with the
 * names that its frames had at its time, as soon as nothing that is still to come can change them;
 * when its time is up; or when there is no room for more (I4): then the oldest of those processes
 * whose samples take the most. A frame that has no name then is `[jit: unknown]`, and is counted.
 * One owner, one thread.
 */
#pragma once

#include "base/cleanup.h"
#include "jit/jit_table.h"
#include "resolve/binary_table.h"
#include "resolve/resolver.h"

#include <stddef.h>
#include <stdint.h>

struct late_samples;

struct late_samples_limits {
	size_t bytes;	      /* 4 MiB */
	uint64_t patience_ns; /* how old a sample may become; UINT64_MAX: without end */
};

struct late_counters {
	uint64_t samples;	   /* with frames in JIT memory */
	uint64_t leaves;	   /* of them, that were in JIT memory themselves */
	uint64_t leaves_unknown;   /* of those, without a name */
	uint64_t frames;	   /* in JIT memory, of all samples that have gone on */
	uint64_t frames_unknown;   /* of those, without a name */
	uint64_t frames_ambiguous; /* of those: counted over a time in which the code changed */
	uint64_t hurried;	   /* waits that were cut short for want of room */
	uint64_t waiting;
};

/*
 * Takes a sample that goes on: its frames, root first. It gives back what late_samples is to
 * return, if it is not 0; after an -errno the sample waits on.
 */
typedef int (*late_function)(void *context, const struct raw_sample *sample,
	const struct resolved_frame *frames, size_t count);

/* `table` and `binaries` are borrowed and must outlive this. Returns 0 or -ENOMEM. */
int late_samples_new(const struct late_samples_limits *limits, struct jit_table *table,
	struct binary_table *binaries, late_function function, void *context,
	struct late_samples **ret_late);
void late_samples_free(struct late_samples *late);
DEFINE_CLEANUP(struct late_samples, late_samples_free);

/*
 * Keeps a copy of what an aggregator needs of the sample: who, when, how often, its way; and its
 * frames, root first. Returns 0, -ENOMEM, or what the function gave back for one that had to make
 * room.
 */
int late_samples_add(struct late_samples *late, const struct raw_sample *sample,
	const struct resolved_frame *frames, size_t count);

/*
 * Sends on what is settled or too old at `now_ns`. Returns 0, -ENOMEM, or what the function gave
 * back: the sample that it was given then is gone, those behind it wait on.
 */
int late_samples_run(struct late_samples *late, uint64_t now_ns);

/* Sends on all. Returns as late_samples_run() does. */
int late_samples_finish(struct late_samples *late);

/* Of the oldest sample that waits; UINT64_MAX: none does. CLOCK_MONOTONIC. */
uint64_t late_samples_oldest_ns(const struct late_samples *late);

size_t late_samples_bytes(const struct late_samples *late);
void late_samples_counters(const struct late_samples *late, struct late_counters *ret_counters);
