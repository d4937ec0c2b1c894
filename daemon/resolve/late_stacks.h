/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The stacks of queued samples, deduplicated. Single stacks are never removed: the owner builds a
 * new set of the stacks that it still needs. One owner, one thread.
 */
#pragma once

#include "base/hash_index.h"
#include "base/string_pool.h"
#include "resolve/resolver.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LATE_FRAME_BYTES = 24 }; /* of a frame in the set */

struct late_stacks {
	struct late_frame *frames;
	size_t frame_count, frame_capacity;
	struct late_stack *stacks;
	size_t stack_count, stack_capacity;
	struct hash_index index;
	struct string_pool names; /* of kernel and synthetic frames */
};

/* Returns 0 or -ENOMEM; call late_stacks_done() in both cases. */
int late_stacks_init(struct late_stacks *stacks, size_t names_bytes);
void late_stacks_done(struct late_stacks *stacks);

/* Adds or finds a stack; frames root first. Returns 0, -ENOMEM, or -E2BIG if the set is full. */
int late_stacks_intern(struct late_stacks *stacks, const struct resolved_frame *frames,
	size_t count, uint32_t *ret_stack);

/* The same, but -ENOBUFS if the stack is new and may not be added. */
int late_stacks_intern_within(struct late_stacks *stacks, const struct resolved_frame *frames,
	size_t count, bool may_add, uint32_t *ret_stack);

/* Returns the number of frames. Names are borrowed until the next intern. */
size_t late_stacks_get(const struct late_stacks *stacks, uint32_t stack,
	struct resolved_frame frames[RESOLVED_FRAMES_MAX]);

size_t late_stacks_count(const struct late_stacks *stacks);
/* The memory of one stack's frames. */
size_t late_stacks_frame_bytes(const struct late_stacks *stacks, uint32_t stack);
size_t late_stacks_bytes(const struct late_stacks *stacks);
