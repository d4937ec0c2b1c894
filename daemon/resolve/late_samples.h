/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A queue of samples with JIT frames that wait for names (I3). A runtime buffers its records of
 * compiled functions, so the hottest function may be the last one to get a name. A sample leaves
 * the queue as soon as no later record can change its names, or at its timeout. When the queue is
 * full (I4), the oldest samples of the users who use the most of it leave early, and of each, of
 * the processes that do. Frames get the names that were valid at the time of the sample. A frame
 * without a name becomes
 * `[jit: unknown]` and is counted. One owner, one thread.
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
	uint64_t patience_ns; /* timeout, from the sample's time on; UINT64_MAX: none */
};

struct late_counters {
	uint64_t samples;	   /* samples with JIT frames */
	uint64_t leaves;	   /* samples that left the queue, with a leaf in JIT memory */
	uint64_t leaves_unknown;   /* leaves without a name */
	uint64_t frames;	   /* JIT frames of all samples that left the queue */
	uint64_t frames_unknown;   /* frames without a name */
	uint64_t frames_ambiguous; /* unknown because the code changed while they were counted */
	uint64_t hurried;	   /* samples that left early because the queue was full */
	uint64_t waiting;	   /* samples in the queue */
};

/*
 * Receives a sample that leaves the queue, with its frames, root first. late_samples passes any
 * other result than 0 on to its caller. After an -errno the sample stays in the queue.
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
 * Queues a copy of the fields that an aggregator needs (process, times, count, path) and of the
 * frames, root first. Returns 0, -ENOMEM, or the function's result for a sample that had to make
 * room.
 */
int late_samples_add(struct late_samples *late, const struct raw_sample *sample,
	const struct resolved_frame *frames, size_t count);

/*
 * Sends samples whose names are final and samples that timed out at `now_ns`. Returns 0, -ENOMEM,
 * or the function's result. A positive result consumes that sample; the samples behind it wait on.
 */
int late_samples_run(struct late_samples *late, uint64_t now_ns);

/* Sends all samples. Returns as late_samples_run() does. */
int late_samples_finish(struct late_samples *late);

/* The time of the oldest sample in the queue, CLOCK_MONOTONIC; UINT64_MAX: the queue is empty. */
uint64_t late_samples_oldest_ns(const struct late_samples *late);

size_t late_samples_bytes(const struct late_samples *late);
void late_samples_counters(const struct late_samples *late, struct late_counters *ret_counters);
