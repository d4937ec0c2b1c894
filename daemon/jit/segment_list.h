/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The whole address space, cut into segments, each with a list of a code_history (which is nothing
 * but a number here). A segment goes from its start to the next one's; the first starts at 0. They
 * stand in order in leaves, and the leaves' first starts in one array: what is put in moves at most
 * a leaf's worth, and now and then that array's end. Owned by the index.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CODE_LEAF_SEGMENTS = 64, CODE_SPARE_LEAVES = 4 };

struct code_leaf {
	uint64_t starts[CODE_LEAF_SEGMENTS];
	uint32_t lists[CODE_LEAF_SEGMENTS];
	uint32_t count; /* never 0 */
};

struct segment_list {
	uint64_t *starts; /* of each leaf's first segment */
	struct code_leaf **leaves;
	size_t count, starts_capacity, leaves_capacity;
	size_t segment_count;
	size_t changed_leaf; /* where the last change was: the next question is often about there */
	struct code_leaf *spares[CODE_SPARE_LEAVES];
	size_t spare_count;
};

struct code_position {
	size_t leaf;
	uint32_t slot;
};

/* One segment, with `list`. Returns 0 or -ENOMEM. */
int segment_list_init(struct segment_list *segments, uint32_t list);
void segment_list_done(struct segment_list *segments);

/* Makes sure that `splits` cuts succeed, at most CODE_SPARE_LEAVES. Returns 0 or -ENOMEM. */
int segment_list_reserve(struct segment_list *segments, size_t splits);
size_t segment_list_bytes_after(const struct segment_list *segments, size_t splits);

/* The segment that an address is in, and the one after it: false at the end. */
struct code_position segment_list_find(const struct segment_list *segments, uint64_t address);
bool segment_list_next(const struct segment_list *segments, struct code_position *position);
uint64_t segment_list_start(const struct segment_list *segments, struct code_position position);
uint32_t segment_list_list(const struct segment_list *segments, struct code_position position);

/*
 * Makes a segment start at `address`, after segment_list_reserve(). True: there was none, and both
 * halves now have `ret_list`.
 */
bool segment_list_split(struct segment_list *segments, uint64_t address, uint32_t *ret_list);

/* Adds a segment at the end, after all others, while a new one is made. Returns 0 or -ENOMEM. */
int segment_list_append(struct segment_list *segments, uint64_t start, uint32_t list);

enum code_verdict {
	CODE_KEEP,  /* with the list that `list` now says */
	CODE_MERGE, /* it becomes a part of the one before, and must not be the first */
	CODE_STOP,  /* keep it, and all that come after it */
};
typedef enum code_verdict (*code_segment_function)(void *context, uint32_t *list);

/* Asks for each segment that starts from `first`, where one does, to `last`. */
void segment_list_rewrite(struct segment_list *segments, uint64_t first, uint64_t last,
	code_segment_function function, void *context);
