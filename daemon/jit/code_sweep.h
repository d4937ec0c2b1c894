/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Goes through addresses in order and finds the newest of some code everywhere, in O(n log n)
 * whatever overlaps: compaction must not cost more than that for a hostile writer.
 */
#pragma once

#include "jit/code_store.h"

/* Calls `function` with the id of each code that is the newest of all somewhere, perhaps often. */
typedef void (*code_sweep_function)(void *context, uint32_t id);

/* Looks at the code with these ids alone, and sorts them. Returns 0 or -ENOMEM. */
int code_sweep(const struct code_store *store, uint32_t *ids, size_t count,
	code_sweep_function function, void *context);
