/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Puts the events of several streams into the order of their sequence numbers, which wrap. Numbers
 * are contiguous unless the writer dropped events. So an event that continues the order is yielded
 * at once. At a gap, the merge waits for the FIFOs that have no events at the moment, but not for
 * long: their CPUs may be idle. One owner, one thread.
 */
#pragma once

#include "base/cleanup.h"
#include "kmemtrace/kmemtrace_stream.h"

#include <stddef.h>
#include <stdint.h>

enum { KMEMTRACE_STREAMS_MAX = 8192, KMEMTRACE_WAIT_MS = 200 };

struct kmemtrace_merge;

struct kmemtrace_merge_counters {
	uint64_t events;
	uint64_t missing; /* sequence numbers that no stream has */
	uint64_t late;	  /* events that came after one with a greater number was yielded */
};

/* Returns 0 or -ENOMEM. */
int kmemtrace_merge_new(struct kmemtrace_merge **ret_merge);
void kmemtrace_merge_free(struct kmemtrace_merge *merge);
DEFINE_CLEANUP(struct kmemtrace_merge, kmemtrace_merge_free);

/* Takes the stream over, also on failure. Returns 0, -ENOMEM or -E2BIG. Add all before reading. */
int kmemtrace_merge_add(struct kmemtrace_merge *merge, struct kmemtrace_stream *stream);

/*
 * Yields the next event. Returns 1; 0 once all streams have ended; -EINTR if `stop_fd` (-1: none)
 * became readable while it waited; -ENOMEM; or the error of reading a stream.
 */
int kmemtrace_merge_next(
	struct kmemtrace_merge *merge, int stop_fd, struct kmemtrace_event *ret_event);

void kmemtrace_merge_counters(
	const struct kmemtrace_merge *merge, struct kmemtrace_merge_counters *ret_counters);

/* The streams, in the order of adding; borrowed. NULL from the end on. */
const struct kmemtrace_stream *kmemtrace_merge_stream(
	const struct kmemtrace_merge *merge, size_t index);
