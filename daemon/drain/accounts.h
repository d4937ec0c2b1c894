/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The accounts of a window or of a whole recording. They always close (I1): fired = Σ stored + Σ
 * dropped. Every stage that cannot carry a sample on moves it from stored to dropped, by reason.
 */
#pragma once

#include "pilotlight/event.h"

#include <stdbool.h>
#include <stdint.h>

struct accounts {
	uint64_t fired;
	uint64_t run_ns;   /* what taking the samples cost the kernel */
	uint64_t watch_ns; /* what events without a sample cost it, estimated */
	uint64_t stored[PILOTLIGHT_PATH_COUNT];
	uint64_t dropped[PILOTLIGHT_DROP_COUNT];
	uint64_t events[PILOTLIGHT_EVENT_COUNT];
	/*
	 * Samples with a user stack, by walker; and samples that tables walked, by why the walk
	 * ended.
	 */
	uint64_t walked[PILOTLIGHT_WALKERS];
	uint64_t ends[PILOTLIGHT_WALK_ENDS];
};

void accounts_add(struct accounts *sum, const struct accounts *part);

/* The accounts of each source. Each closes, and counts periods of its source. */
struct source_accounts {
	struct accounts of[PILOTLIGHT_SOURCES];
};
void source_accounts_add(struct source_accounts *sum, const struct source_accounts *part);
bool source_accounts_close(const struct source_accounts *accounts);
/* As accounts_subtract(), of all sources or of none. */
bool source_accounts_subtract(struct source_accounts *accounts, const struct source_accounts *part);

/*
 * accounts_add_weighted() adds `part` with its samples multiplied by `weight`. To sum windows of
 * different periods, add each with its weight, then divide the sum once. Counters that do not count
 * samples are added unweighted.
 *
 * accounts_divide() passes the remainder of each counter on to the next, so totals are right to one
 * sample. Accounts that close before these calls also close after them.
 */
void accounts_add_weighted(struct accounts *sum, const struct accounts *part, uint64_t weight);
void accounts_divide(struct accounts *accounts, uint64_t divisor);

/* Adds one CPU's counters. */
void accounts_add_counters(struct accounts *sum, const struct pilotlight_counters *counters);

/* Moves `count` samples that came by `path` from stored to dropped. */
void accounts_move(struct accounts *accounts, enum pilotlight_path path,
	enum pilotlight_drop reason, uint64_t count);

/*
 * Returns false and changes nothing if `part` does not close, or if it has a counter greater than
 * that of `accounts`.
 */
bool accounts_subtract(struct accounts *accounts, const struct accounts *part);

/*
 * Keeps `selected` of the stored samples and counts the others as filtered. The losses shrink in
 * the same proportion, because lost samples cannot be attributed. Accounts that close still close.
 */
void accounts_select(struct accounts *accounts, uint64_t selected);

uint64_t accounts_stored(const struct accounts *accounts);

/* Dropped samples that are losses: not idle time, and not processes that the filter excludes. */
uint64_t accounts_lost(const struct accounts *accounts);

bool accounts_close(const struct accounts *accounts);

/*
 * The reason's name for messages and synthetic frames: "ring full". "idle" and "filtered" are not
 * losses.
 */
const char *accounts_drop_name(enum pilotlight_drop reason);
bool accounts_drop_is_loss(enum pilotlight_drop reason);
