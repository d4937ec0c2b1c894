/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The profile of `pilotlight top`: a tree of frames, whose first level is the names of threads, and
 * the functions in that tree; or, of a table that the service has made, the functions and the names
 * of threads alone. Names are valid UTF-8 without control characters, even if the input
 * was not (I8). The constants below are bounds (I4): samples of frames beyond them count for the
 * nearest caller in the tree, so that the sum stays right. Read-only once made; one thread.
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
	TOP_PROFILE_DEPTH_MAX = 1024, /* frames, including the thread's name */
	TOP_PROFILE_ROOT = 0,
};
#define TOP_PROFILE_NONE UINT32_MAX

/* A node of the tree. Callees have higher numbers than their callers. */
struct top_node {
	uint64_t total, self;
	uint64_t path; /* a hash of the names from the root on, equal in all profiles */
	uint32_t name; /* the whole frame, with its suffix */
	uint32_t caller;
	uint32_t first_callee, next_callee; /* TOP_PROFILE_NONE: none */
	uint32_t depth;			    /* 0: the root; 1: names of threads */
};

/* A function is the name of a frame; names of threads do not count. Of a table, it also has a
 * binary, and the unit and the thread that take most of its own samples; 0: none. */
struct top_function {
	uint64_t total, self;
	uint32_t name, unit, thread, binary; /* names */
	uint32_t last_line; /* the last line that counted, so that recursion counts once */
};

struct top_profile {
	struct string_pool names;
	struct top_node *nodes;
	size_t node_count, node_capacity;
	struct hash_index index; /* of nodes, by caller and name */
	/* Of a tree by name; entries without samples are not functions. */
	struct top_function *functions;
	size_t function_count, function_capacity;
	uint64_t samples, lost;
	uint64_t damaged; /* lines that cannot be parsed */
	uint64_t cut;	  /* lines cut at a bound */
	bool has_tree;
};

/* Parses folded stacks, which are copied. Returns 0 or -ENOMEM. */
int top_profile_new(const char *text, size_t size, struct top_profile **ret_profile);
/* Parses a table (render/top_table.h), which is copied. Returns 0 or -ENOMEM. */
int top_profile_read_table(const char *text, size_t size, struct top_profile **ret_profile);
void top_profile_free(struct top_profile *profile);
DEFINE_CLEANUP(struct top_profile, top_profile_free);

/* A name without its suffix, not terminated, and its kind. Borrowed. */
const char *top_profile_name(const struct top_profile *profile, uint32_t name, size_t *ret_size,
	enum folded_kind *ret_kind);
