/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The books of a window, or of a whole recording (I1): fired = Σ stored + Σ dropped, always. Every
 * hop that cannot carry a sample on moves it from stored to dropped, by reason.
 */
#pragma once

#include "pilotlight/event.h"

#include <stdbool.h>
#include <stdint.h>

struct accounts {
	uint64_t fired;
	uint64_t run_ns; /* what taking them cost in the kernel */
	uint64_t stored[PILOTLIGHT_PATH_COUNT];
	uint64_t dropped[PILOTLIGHT_DROP_COUNT];
	uint64_t events[PILOTLIGHT_EVENT_COUNT];
	/* Samples with a user stack by who walked it, and those walked by tables by their end. */
	uint64_t walked[PILOTLIGHT_WALKERS];
	uint64_t ends[PILOTLIGHT_WALK_ENDS];
};

void accounts_add(struct accounts *sum, const struct accounts *part);

/*
 * Adds accounts whose samples stand for `weight` each, as so many times as many; divided by one
 * weight in the end, those of different periods are one. What is no sample is added as it is. What
 * is left of each when it is divided goes to the next, so that totals are right to one sample;
 * accounts that close do so afterwards.
 */
void accounts_add_weighted(struct accounts *sum, const struct accounts *part, uint64_t weight);
void accounts_divide(struct accounts *accounts, uint64_t divisor);

/* Adds one CPU's counters. */
void accounts_add_counters(struct accounts *sum, const struct pilotlight_counters *counters);

/* `count` samples that came by `path` could not be carried on. */
void accounts_move(struct accounts *accounts, enum pilotlight_path path,
	enum pilotlight_drop reason, uint64_t count);

/*
 * Returns false and changes nothing if `part` does not close, or if one of its counters is greater
 * than that of `accounts`.
 */
bool accounts_subtract(struct accounts *accounts, const struct accounts *part);

/*
 * Of the samples that are stored so many alone are asked for: the others were filtered, and so is
 * their share of what was lost, as nobody knows whose that was. What closes does so afterwards.
 */
void accounts_select(struct accounts *accounts, uint64_t selected);

uint64_t accounts_stored(const struct accounts *accounts);

/* What was lost, as opposed to idle time and processes that were not asked for. */
uint64_t accounts_lost(const struct accounts *accounts);

bool accounts_close(const struct accounts *accounts);

/* "ring full", for messages and synthetic frames; "idle", "filtered" for what is not a loss. */
const char *accounts_drop_name(enum pilotlight_drop reason);
bool accounts_drop_is_loss(enum pilotlight_drop reason);
