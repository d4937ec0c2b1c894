/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The user stacks of a window that the sampler itself walked, indexed by hash. Each stack arrives
 * once, by the ring; the window's samples refer to it by hash. Bounded (I4). One owner, one thread.
 */
#pragma once

#include "base/hash_index.h"
#include "drain/drain.h"
#include "pilotlight/walk.h"

#include <stddef.h>
#include <stdint.h>

struct walk_table {
	struct hash_index index;
	struct walked_stack *stacks;
	size_t count, capacity, limit;
	uint64_t *frames; /* of all stacks */
	size_t frame_count, frame_capacity;
	struct pilotlight_runtime_frame *runtime_frames; /* of all stacks */
	size_t runtime_frame_count, runtime_frame_capacity;
};

struct walked_stack {
	uint64_t hash;
	size_t first_frame;
	size_t first_runtime_frame;
	uint32_t runtime_file;
	uint16_t count, runtime_count;
	uint8_t end;		  /* enum pilotlight_walk_end */
	uint8_t runtime_end;	  /* enum pilotlight_runtime_end */
	uint8_t runtime_language; /* enum pilotlight_runtime_language */
};

/* The table holds at most `limit` stacks, which have at most 256 frames on average. */
void walk_table_init(struct walk_table *table, size_t limit);
void walk_table_done(struct walk_table *table);

/* Removes all stacks and keeps the memory for reuse. */
void walk_table_clear(struct walk_table *table);

/*
 * Copies the stack of a sample by PILOTLIGHT_WALKER_TABLES. Returns 0, also if the stack is already
 * there; -E2BIG at the limit, or -ENOMEM.
 */
int walk_table_add(struct walk_table *table, const struct raw_sample *sample);

/*
 * Returns the stack, or NULL if it is not there. It and its frames are borrowed until the next
 * change.
 */
const struct walked_stack *walk_table_find(const struct walk_table *table, uint64_t hash);
