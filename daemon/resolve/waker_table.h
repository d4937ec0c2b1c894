/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The stacks of threads that have woken others, until the sample comes of what the other waited
 * for. It is bounded: a waker takes the place of another whose thread has the same hash, and the
 * sample of that one then has none. One owner, one thread.
 */
#pragma once

#include "base/cleanup.h"
#include "drain/drain.h"

struct waker_table;

/* Returns 0 or -ENOMEM. */
int waker_table_new(struct waker_table **ret_table);
void waker_table_free(struct waker_table *table);
DEFINE_CLEANUP(struct waker_table, waker_table_free);

/* Keeps a copy of a sample with is_waker, without frames that it has too many of. */
void waker_table_add(struct waker_table *table, const struct raw_sample *waker);

/* Takes the waker of a sample's thread; NULL if there is none. Borrowed until the next call. */
const struct raw_sample *waker_table_take(
	struct waker_table *table, const struct raw_sample *sample);
