/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Samples of allocations that live: of kernel memory, or of a program's heap. Which of them still
 * live is known by the kernel side alone: the map `live` of struct capture_maps has each sampled
 * address until it is freed (struct pilotlight_live_key). A free costs no record, and none can be
 * lost. So the table is swept: before a window ends, and when it is full, it asks for each sample
 * whether the map still has it.
 *
 * An allocation whose address is allocated again replaces the earlier one, which was freed since
 * the last sweep, or whose free was missed: the kernel has ways to free memory without a
 * tracepoint. Samples may come in any order: the latest allocation stays. What is older than
 * `age_ns_max` expires, in case that its free was missed.
 *
 * Bounds (I4): entries, and bytes of stacks and labels. Users share the entries and the bytes of
 * stacks (base/user_share.h), but not those of names and labels. What exceeds them is refused.
 * Before that, a user's entries can be thinned out, and with them go stacks that only they had.
 * After n times an entry of fewer than 2^n periods stays by chance, in proportion to its periods,
 * and then counts as 2^n of them; so do those that come later. Sums stay right in expectation, and
 * large allocations stay. When the user holds little, n gets smaller again. One owner, one thread.
 */
#pragma once

#include "base/cleanup.h"
#include "base/user_share.h"
#include "drain/drain.h"
#include "pilotlight/event.h"
#include "resolve/resolver.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct live_table;

enum { LIVE_ENTRY_BYTES = 144 }; /* of an entry, and of its place in the index */

struct live_table_limits {
	size_t entries_max;
	size_t bytes_max;    /* of the stacks and labels of all entries */
	uint64_t age_ns_max; /* UINT64_MAX: nothing expires */
};

/* Samples of a source, since the table was made. */
struct live_counters {
	uint64_t added;
	uint64_t freed;	   /* a sweep found that they live no more */
	uint64_t replaced; /* the address was allocated again */
	uint64_t expired;
	uint64_t thinned;	  /* others stand for it */
	uint64_t refused;	  /* by live_table_refuse() */
	uint64_t refused_periods; /* with those that it would have stood for */
};

/* Facts about a sample's thread that the kernel does not report with the sample. */
struct live_labels {
	const char *exe, *cgroup; /* borrowed for the call; "" if unknown */
};

/* Returns 0 or -ENOMEM. */
int live_table_new(const struct live_table_limits *limits, struct live_table **ret_table);
void live_table_free(struct live_table *table);
DEFINE_CLEANUP(struct live_table, live_table_free);

/* What identifies a live sample in the kernel side's map. */
struct pilotlight_live_key live_key_of(const struct raw_sample *sample);

/*
 * Adds a copy of a sample that has an address, with its frames, root first. Names of JIT frames are
 * kept; their source lines are not. `sample->share_user` answers for it. Returns 0;
 * LIVE_TABLE_THINNED: others stand for it, so the table has it not; -ENOMEM; or -E2BIG: sweep, thin
 * out, and try once more.
 */
enum { LIVE_TABLE_THINNED = 1 };
int live_table_add(struct live_table *table, const struct raw_sample *sample,
	const struct live_labels *labels, const struct resolved_frame *frames, size_t count);

/* Counts a sample that found no room in the end. */
void live_table_refuse(struct live_table *table, const struct raw_sample *sample);

/* What the kernel side knows. */
struct live_objects {
	/* Does the allocation still live that was sampled at `time_ns`? */
	bool (*lives)(void *context, const struct pilotlight_live_key *key, uint64_t time_ns);
	/* The table no longer has it. */
	void (*forget)(void *context, const struct pilotlight_live_key *key);
	void *context;
};

/*
 * Removes what lives no more, and what is too old at `now_ns` (CLOCK_MONOTONIC). Returns 0 or
 * -ENOMEM: then it only keeps more memory than it needs.
 */
int live_table_sweep(struct live_table *table, uint64_t now_ns, const struct live_objects *objects);

/*
 * Thins out what the user holds, once more or until some go. Call it when a sweep made no room.
 * Returns how many entries went; 0: that makes no room, or there are too few for sums that mean
 * something.
 */
size_t live_table_thin(
	struct live_table *table, uint64_t share_user, const struct live_objects *objects);

/*
 * Receives a sample with its frames, root first; all are borrowed for the call. A result other than
 * 0 ends the visit.
 */
typedef int (*live_function)(void *context, const struct raw_sample *sample,
	const struct live_labels *labels, const struct resolved_frame *frames, size_t count);

/*
 * Visits all samples of a source, or of one of its processes (`tgid` not 0). Returns 0, or the
 * function's result. The frames' binaries must be spared in collections of the binary table, see
 * live_table_spare().
 */
int live_table_visit(const struct live_table *table, enum pilotlight_source source, uint32_t tgid,
	live_function function, void *context);

/* In a collection: spares the binaries of all frames. */
void live_table_spare(const struct live_table *table, struct binary_table *binaries);

void live_table_counters(const struct live_table *table, enum pilotlight_source source,
	struct live_counters *ret_counters);
/* Samples of all sources, now, and the memory of the table. */
size_t live_table_count(const struct live_table *table);
size_t live_table_bytes(const struct live_table *table);
/* Adds what users hold of the entries, and what they were refused. */
void live_table_users(
	const struct live_table *table, struct user_excess *excess, struct user_holdings *holdings);
