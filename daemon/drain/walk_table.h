/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The user stacks that samples of a window were counted with, of those that the sampler has walked,
 * by their hash: each comes once, by the ring. Bounded (I4). One owner, one thread.
 */
#pragma once

#include "base/hash_index.h"
#include "drain/ring_sample.h"

#include <stddef.h>
#include <stdint.h>

struct walk_table {
	struct hash_index index;
	struct walked_stack *stacks;
	size_t count, capacity, limit;
	uint64_t *frames; /* of all stacks */
	size_t frame_count, frame_capacity;
};

struct walked_stack {
	uint64_t hash;
	size_t first_frame;
	uint16_t count;
	uint8_t end; /* enum pilotlight_walk_end */
};

/* At most `limit` stacks. */
void walk_table_init(struct walk_table *table, size_t limit);
void walk_table_done(struct walk_table *table);

/* Forgets them all and keeps the memory. */
void walk_table_clear(struct walk_table *table);

/* Copies a stack. Returns 0, also where it is there already; -E2BIG or -ENOMEM. */
int walk_table_add(struct walk_table *table, const struct ring_walk *walk);

/* Borrowed, as its frames are, until the next change; NULL: not there. */
const struct walked_stack *walk_table_find(const struct walk_table *table, uint64_t hash);
