/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * User stacks that have been resolved, by their raw addresses, their program image and the state
 * of its mappings: a stack that is seen in window after window is asked for its build-ids,
 * and looked up, once. Bounded (I4): when it is full it starts afresh. One owner, one thread.
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
	size_t frames; /* of all stacks; raw addresses and resolved ones each */
};
extern const struct stack_cache_limits stack_cache_default_limits;

/* Returns 0 or -ENOMEM. */
int stack_cache_new(const struct stack_cache_limits *limits, struct stack_cache **ret_cache);
void stack_cache_free(struct stack_cache *cache);
DEFINE_CLEANUP(struct stack_cache, stack_cache_free);

/* A stack as it is known by, and what became of it. */
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
 * Fills in frames and cut of the stack with this version and these ips; they are borrowed until the
 * next change. False: not known.
 */
bool stack_cache_find(const struct stack_cache *cache, struct cached_stack *stack);

/* Remembers a copy, in place of what was known of the stack. Returns 0 or -ENOMEM. */
int stack_cache_add(struct stack_cache *cache, const struct cached_stack *stack);
