/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What `pilotlight top` lists of a profile: its functions, the names of its threads, or the tree of
 * its calls as far as it is opened; of those the ones that a filter leaves, in their order.
 */
#pragma once

#include "tools/top/top_profile.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum top_mode {
	TOP_FUNCTIONS,
	TOP_PROCESSES,
	TOP_TREE,
	TOP_MODE_COUNT,
};

enum { TOP_OPEN_MAX = 4096 };

/* Which nodes of the tree are open: by path, so that they stay so in the next profile. */
struct top_open {
	uint64_t paths[TOP_OPEN_MAX]; /* sorted */
	size_t count;
};

bool top_open_has(const struct top_open *open, uint64_t path);
/* False: there are too many already. */
bool top_open_add(struct top_open *open, uint64_t path);
void top_open_remove(struct top_open *open, uint64_t path);

struct top_row {
	uint64_t total, self;
	uint64_t key;	/* the same for the same row of another profile */
	uint32_t name;	/* of the profile */
	uint32_t node;	/* TOP_PROFILE_NONE: a function */
	uint32_t depth; /* in the tree, from 0 */
	bool is_open, has_callees;
};

struct top_rows {
	struct top_row *items;
	size_t count, capacity;
};

struct top_order {
	enum top_mode mode;
	bool by_total;
	const char *filter; /* what a name has to contain, in any case; "": nothing */
	const struct top_open *open;
};

/*
 * Makes `rows` those of `profile`. With a filter the tree is open as far as what matches. Returns 0
 * or -ENOMEM, and then there are no rows.
 */
int top_rows_make(
	struct top_rows *rows, const struct top_profile *profile, const struct top_order *order);
void top_rows_done(struct top_rows *rows);
