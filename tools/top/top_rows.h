/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rows that `pilotlight top` lists: the functions of a profile, the names of its threads, or
 * the open part of its call tree. Rows are filtered and sorted.
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

/* The open nodes of the tree. They are kept by path, so that they stay open in the next profile. */
struct top_open {
	uint64_t paths[TOP_OPEN_MAX];
	size_t count;
};

bool top_open_has(const struct top_open *open, uint64_t path);
/* False: TOP_OPEN_MAX nodes are open. */
bool top_open_add(struct top_open *open, uint64_t path);
void top_open_remove(struct top_open *open, uint64_t path);

struct top_row {
	uint64_t total, self;
	uint64_t key;	   /* identifies the row in other profiles, too */
	uint32_t name;	   /* of the profile */
	uint32_t node;	   /* TOP_PROFILE_NONE: a function */
	uint32_t function; /* of the profile, if it is one */
	uint32_t depth;	   /* in the tree, from 0 */
	bool is_open, has_callees;
};

struct top_rows {
	struct top_row *items;
	size_t count, capacity;
};

struct top_order {
	enum top_mode mode;
	bool by_total;
	const char *filter; /* names have to contain this, in upper or lower case; "": no filter */
	const struct top_open *open;
};

/*
 * Replaces `rows` by those of `profile`. A filter opens the tree down to the matches. Returns 0, or
 * -ENOMEM without any rows.
 */
int top_rows_make(
	struct top_rows *rows, const struct top_profile *profile, const struct top_order *order);
void top_rows_done(struct top_rows *rows);
