/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How much of an event each moment of the history had, without its stacks: a bucket for each window
 * that is long enough, and one for several that are not. Reading it touches no profile, so it is
 * cheap for days, too.
 */
#pragma once

#include "base/fault.h"
#include "base/output.h"
#include "store/store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TIMELINE_BUCKETS_MAX = 4000 };

struct timeline_bucket {
	uint64_t start_ns, end_ns; /* CLOCK_REALTIME, of its first and its last window */
	uint64_t last_ns;	   /* where its last window starts */
	/* In the unit of the event's source: stored, and lost. */
	double amount, lost;
	uint64_t gap_ns;     /* the event was not recorded, before it or within: it was off, or the
				service was */
	uint64_t period;     /* what a sample stands for, in ns or as a number: the longest of its
				windows */
	bool is_of_new_boot; /* the first since the machine started, but for that of the time line
			      */
};

/* An amount that the whole has (timeline_parts.h). */
struct timeline_part {
	const char *name; /* borrowed */
	double *amounts;  /* by bucket */
};

struct timeline {
	uint64_t start_ns, end_ns; /* as asked */
	const struct event_source *source;
	struct timeline_bucket *buckets; /* in their order */
	size_t count, capacity;
	struct incident_list incidents; /* all */
	struct timeline_part *parts;	/* NULL: were not asked for */
	size_t part_count;
	struct profile *names; /* of the parts */
};

/* Are its amounts seconds? */
bool timeline_is_of_time(const struct event_source *source);

/*
 * Reads the windows that overlap the time of `asked` and are of its event, whatever their threads,
 * into at most `bucket_count` buckets, 1 to TIMELINE_BUCKETS_MAX. The time is cut to that of the
 * history. Returns 0, or -errno with `fault`.
 */
int timeline_read(const char *folder, const struct store_selection *asked, size_t bucket_count,
	struct timeline *ret_timeline, struct fault *fault);
void timeline_done(struct timeline *timeline);

/*
 * Writes one JSON object: version (1), event (the source's name), unit ("seconds", "bytes" or
 * "count"), is_cpu, is_live (amounts are of the end of a bucket, not of its time), from and to in
 * seconds since 1970; buckets: parallel arrays start, end, amount, lost, gap (seconds before it in
 * which the event was not recorded), period (in ns, or a number) and boot (0 or 1); if there are
 * parts, an array of their name and amount, by bucket; and incidents of that time, as
 * query/incident_text.h has them.
 */
void timeline_write(const struct timeline *timeline, struct output *output);
