/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Folded stacks as `pilotlight top` looks at them: a tree of frames whose first level are the names
 * of threads, and the functions in it. Names are valid UTF-8 without control characters, whatever
 * came (I8). Bounded (I4) by the constants below: what is beyond them is counted for the nearest
 * caller that there is room for, so that the sum stays right. Read-only once made; one thread.
 */
#pragma once

#include "base/cleanup.h"
#include "base/hash_index.h"
#include "base/string_pool.h"
#include "tools/top/folded_line.h"

#include <stddef.h>
#include <stdint.h>

enum {
	TOP_PROFILE_NODES_MAX = 1 << 19,
	TOP_PROFILE_NAME_BYTES_MAX = 16 << 20,
	TOP_PROFILE_DEPTH_MAX = 1024, /* of frames, with the thread's name */
	TOP_PROFILE_ROOT = 0,
};
#define TOP_PROFILE_NONE UINT32_MAX

/* Of the tree. Callees have higher numbers than their callers. */
struct top_node {
	uint64_t total, self;
	uint64_t path; /* a hash of the names from the root on: the same in each profile */
	uint32_t name; /* the whole frame, with its suffix */
	uint32_t caller;
	uint32_t first_callee, next_callee; /* TOP_PROFILE_NONE: none */
	uint32_t depth;			    /* 0: the root; 1: names of threads */
};

/* A function is a frame's name; the names of threads are none. */
struct top_function {
	uint64_t total, self;
	uint32_t last_line; /* that it was counted in, so that recursion counts once */
};

struct top_profile {
	struct string_pool names;
	struct top_node *nodes;
	size_t node_count, node_capacity;
	struct hash_index index;	/* of nodes, by caller and name */
	struct top_function *functions; /* by name; those without samples are none */
	size_t function_count, function_capacity;
	uint64_t samples, lost;
	uint64_t damaged; /* lines that are none */
	uint64_t cut;	  /* lines with more than there was room for */
};

/* `text` need not stay. Returns 0 or -ENOMEM. */
int top_profile_new(const char *text, size_t size, struct top_profile **ret_profile);
void top_profile_free(struct top_profile *profile);
DEFINE_CLEANUP(struct top_profile, top_profile_free);

/* A name without its suffix, not terminated, and what it is. Borrowed. */
const char *top_profile_name(const struct top_profile *profile, uint32_t name, size_t *ret_size,
	enum folded_kind *ret_kind);
