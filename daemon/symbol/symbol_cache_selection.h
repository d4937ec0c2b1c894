/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The first so many entries of a folder by some order, however many the folder has (I4): a heap
 * whose top is the last of them and gives way to what comes before it.
 */
#pragma once

#include "symbol/symbol_identity.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

/* An entry as it was when it was found. */
struct symbol_cache_found {
	struct symbol_identity identity;
	uint64_t bytes;
	uint64_t inode;
	struct timespec modified;
};

enum { SYMBOL_CACHE_SELECTION_MAX = 16384 };

/* As of qsort(). */
typedef int (*symbol_cache_order)(
	const struct symbol_cache_found *a, const struct symbol_cache_found *b);

struct symbol_cache_selection {
	struct symbol_cache_found *items; /* owned */
	size_t count, capacity;
	symbol_cache_order order;
	bool has_more; /* something did not find room */
};

void symbol_cache_selection_init(
	struct symbol_cache_selection *selection, symbol_cache_order order);
void symbol_cache_selection_done(struct symbol_cache_selection *selection);

/* Keeps the memory. */
void symbol_cache_selection_clear(struct symbol_cache_selection *selection);

/* Returns 0 or -ENOMEM. */
int symbol_cache_selection_add(
	struct symbol_cache_selection *selection, const struct symbol_cache_found *found);

/* Puts the items in order, after the last was added. */
void symbol_cache_selection_sort(struct symbol_cache_selection *selection);

/* Orders: by name; the least recently used first. */
int symbol_cache_by_name(const struct symbol_cache_found *a, const struct symbol_cache_found *b);
int symbol_cache_by_use(const struct symbol_cache_found *a, const struct symbol_cache_found *b);
