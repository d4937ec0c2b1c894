/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The part of a profile's stack tree that a set of samples reaches. Branches are packed and link
 * parents to children; the profile links children to parents only. Each branch has the samples
 * below it. The memory, 24 bytes a node of the profile, is allocated once and refilled for each set
 * of samples; pages that no set uses are never touched. Filling takes time in proportion to the
 * part, not to the whole tree.
 */
#pragma once

#include "aggregate/profile.h"

/* Packed, since there are millions of them. Parents stand before their children. */
struct stack_branch {
	uint64_t total;	       /* samples of this node and below it */
	uint32_t location;     /* of the profile; nothing at the root */
	uint32_t first_child;  /* 0: none, since the root is never a child */
	uint32_t next_sibling; /* 0: none; the parent while it is being filled */
} __attribute__((packed, aligned(4)));

enum { STACK_ROOT = 0 };

struct stack_branches {
	const struct profile *profile; /* borrowed */
	struct stack_branch *items;    /* items[STACK_ROOT] is the root */
	uint32_t count;

	/* By node: base + the position of its branch; less than base: it has none. */
	uint32_t *numbers;
	uint32_t base;
};

/* Returns 0 or -ENOMEM. */
int stack_branches_init(struct stack_branches *branches, const struct profile *profile);
void stack_branches_done(struct stack_branches *branches);

/* Both replace the contents: */

/* from the samples `first` to `first + count - 1`; */
void stack_branches_fill(struct stack_branches *branches, size_t first, size_t count);

/* from the samples whose positions are given. */
void stack_branches_fill_chosen(
	struct stack_branches *branches, const uint32_t *chosen, size_t count);
