/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A cache of resolved user stacks, keyed by raw addresses, process image and the version of its
 * mappings. A stack that recurs in many windows is resolved, and its build-ids captured, only once.
 * Bounded (I4): a full cache is cleared. One owner, one thread.
 */
#pragma once

#include "base/cleanup.h"
#include "pilotlight/event.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct stack_cache;
struct resolved_frame;

struct stack_cache_limits {
	size_t stacks;
	size_t frames; /* of all stacks; the bound of raw addresses and of resolved frames each */
};
extern const struct stack_cache_limits stack_cache_default_limits;

/* Returns 0 or -ENOMEM. */
int stack_cache_new(const struct stack_cache_limits *limits, struct stack_cache **ret_cache);
void stack_cache_free(struct stack_cache *cache);
DEFINE_CLEANUP(struct stack_cache, stack_cache_free);

/* The key of a stack, and its resolved frames. */
struct cached_stack {
	struct pilotlight_process process;
	uint64_t version; /* process_table_version() */
	const uint64_t *ips;
	size_t ip_count;
	const struct resolved_frame *frames; /* leaf first, as the resolver makes them */
	size_t frame_count;
	unsigned cut; /* the resolver's reason for its end */
};

/*
 * Fills in the frames and cut of the stack with this process, version and ips. The frames are
 * borrowed until the next change. False: not cached.
 */
bool stack_cache_find(const struct stack_cache *cache, struct cached_stack *stack);

/* Caches a copy, and replaces an older entry of the same key. Returns 0 or -ENOMEM. */
int stack_cache_add(struct stack_cache *cache, const struct cached_stack *stack);
