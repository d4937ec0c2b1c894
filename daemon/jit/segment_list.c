/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "jit/segment_list.h"

#include "base/array.h"
#include "jit/code_growth.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* How full the leaves of a new array are: some room for what comes between. */
enum { APPENDED_SEGMENTS = CODE_LEAF_SEGMENTS * 7 / 8 };

int segment_list_init(struct segment_list *segments, uint32_t list)
{
	int r;

	*segments = (struct segment_list){ 0 };
	r = segment_list_append(segments, 0, list);
	if (r < 0)
		segment_list_done(segments);
	return r;
}

void segment_list_done(struct segment_list *segments)
{
	for (size_t i = 0; i < segments->count; i++)
		free(segments->leaves[i]);
	for (size_t i = 0; i < segments->spare_count; i++)
		free(segments->spares[i]);
	free(segments->starts);
	free(segments->leaves);
	*segments = (struct segment_list){ 0 };
}

int segment_list_reserve(struct segment_list *segments, size_t splits)
{
	size_t count = segments->count + splits;
	int r;

	assert(splits <= CODE_SPARE_LEAVES);
	r = ARRAY_RESERVE(segments->starts, &segments->starts_capacity, count,
		code_growth(segments->starts_capacity, count));
	if (r < 0)
		return r;
	r = ARRAY_RESERVE(segments->leaves, &segments->leaves_capacity, count,
		code_growth(segments->leaves_capacity, count));
	if (r < 0)
		return r;
	while (segments->spare_count < splits) {
		struct code_leaf *leaf = malloc(sizeof(*leaf));

		if (!leaf)
			return -ENOMEM;
		segments->spares[segments->spare_count++] = leaf;
	}
	return 0;
}

size_t segment_list_bytes_after(const struct segment_list *segments, size_t splits)
{
	size_t spares = segments->spare_count > splits ? segments->spare_count : splits;
	size_t count = segments->count + splits;

	return (segments->count + spares) * sizeof(struct code_leaf) +
	       code_growth(segments->starts_capacity, count) * sizeof(*segments->starts) +
	       code_growth(segments->leaves_capacity, count) * sizeof(*segments->leaves);
}

/* The last of `count` ascending numbers that is at most `address`; the first one is. */
static size_t last_at_or_before(const uint64_t *starts, size_t count, uint64_t address)
{
	const uint64_t *base = starts;

	while (count > 1) {
		size_t half = count / 2;

		base = base[half] <= address ? base + half : base;
		count -= half;
	}
	return (size_t)(base - starts);
}

static bool is_in_leaf(const struct segment_list *segments, size_t at, uint64_t address)
{
	return at < segments->count && segments->starts[at] <= address &&
	       (at + 1 == segments->count || address < segments->starts[at + 1]);
}

struct code_position segment_list_find(const struct segment_list *segments, uint64_t address)
{
	size_t at = segments->changed_leaf;
	const struct code_leaf *leaf;

	if (is_in_leaf(segments, at, address)) {
		leaf = segments->leaves[at];
		return (struct code_position){
			.leaf = at,
			.slot = (uint32_t)last_at_or_before(leaf->starts, leaf->count, address),
		};
	}
	at = last_at_or_before(segments->starts, segments->count, address);
	leaf = segments->leaves[at];

	/* All that may be looked at next is fetched at once, and not one thing after the other. */
	__builtin_prefetch(&leaf->count);
	for (size_t i = CODE_LEAF_SEGMENTS / 8; i < CODE_LEAF_SEGMENTS; i += CODE_LEAF_SEGMENTS / 8)
		__builtin_prefetch(&leaf->starts[i]);
	for (size_t i = 0; i < CODE_LEAF_SEGMENTS; i += CODE_LEAF_SEGMENTS / 4)
		__builtin_prefetch(&leaf->lists[i]);
	return (struct code_position){
		.leaf = at,
		.slot = (uint32_t)last_at_or_before(leaf->starts, leaf->count, address),
	};
}

bool segment_list_next(const struct segment_list *segments, struct code_position *position)
{
	if (position->slot + 1 < segments->leaves[position->leaf]->count) {
		position->slot++;
		return true;
	}
	if (position->leaf + 1 == segments->count)
		return false;
	position->leaf++;
	position->slot = 0;
	return true;
}

uint64_t segment_list_start(const struct segment_list *segments, struct code_position position)
{
	return segments->leaves[position.leaf]->starts[position.slot];
}

uint32_t segment_list_list(const struct segment_list *segments, struct code_position position)
{
	return segments->leaves[position.leaf]->lists[position.slot];
}

static void insert_slot(struct code_leaf *leaf, uint32_t slot, uint64_t start, uint32_t list)
{
	size_t moved = leaf->count - slot;

	assert(leaf->count < CODE_LEAF_SEGMENTS);
	memmove(leaf->starts + slot + 1, leaf->starts + slot, moved * sizeof(leaf->starts[0]));
	memmove(leaf->lists + slot + 1, leaf->lists + slot, moved * sizeof(leaf->lists[0]));
	leaf->starts[slot] = start;
	leaf->lists[slot] = list;
	leaf->count++;
}

static void insert_leaf(struct segment_list *segments, size_t at, struct code_leaf *leaf)
{
	size_t moved = segments->count - at;

	assert(segments->count < segments->starts_capacity);
	assert(segments->count < segments->leaves_capacity);
	memmove(segments->starts + at + 1, segments->starts + at,
		moved * sizeof(segments->starts[0]));
	memmove(segments->leaves + at + 1, segments->leaves + at,
		moved * sizeof(segments->leaves[0]));
	segments->starts[at] = leaf->starts[0];
	segments->leaves[at] = leaf;
	segments->count++;
}

static struct code_leaf *take_spare(struct segment_list *segments)
{
	struct code_leaf *leaf;

	assert(segments->spare_count > 0);
	leaf = segments->spares[--segments->spare_count];
	leaf->count = 0;
	return leaf;
}

/*
 * Behind the last slot of a full leaf: into the next leaf where that has room, so that neither
 * ascending nor descending addresses leave leaves that are nearly empty.
 */
static void insert_behind(struct segment_list *segments, size_t leaf, uint64_t start, uint32_t list)
{
	struct code_leaf *next = leaf + 1 < segments->count ? segments->leaves[leaf + 1] : NULL;

	if (next && next->count < CODE_LEAF_SEGMENTS) {
		insert_slot(next, 0, start, list);
		segments->starts[leaf + 1] = start;
		return;
	}
	next = take_spare(segments);
	insert_slot(next, 0, start, list);
	insert_leaf(segments, leaf + 1, next);
}

static void insert_halving(
	struct segment_list *segments, struct code_position position, uint64_t start, uint32_t list)
{
	struct code_leaf *left = segments->leaves[position.leaf];
	struct code_leaf *right = take_spare(segments);
	enum { HALF = CODE_LEAF_SEGMENTS / 2 };

	memcpy(right->starts, left->starts + HALF, HALF * sizeof(left->starts[0]));
	memcpy(right->lists, left->lists + HALF, HALF * sizeof(left->lists[0]));
	left->count = HALF;
	right->count = HALF;
	if (position.slot <= HALF)
		insert_slot(left, position.slot, start, list);
	else
		insert_slot(right, position.slot - HALF, start, list);
	insert_leaf(segments, position.leaf + 1, right);
}

bool segment_list_split(struct segment_list *segments, uint64_t address, uint32_t *ret_list)
{
	struct code_position position = segment_list_find(segments, address);
	struct code_leaf *leaf = segments->leaves[position.leaf];
	uint32_t list = leaf->lists[position.slot];

	segments->changed_leaf = position.leaf;
	if (leaf->starts[position.slot] == address)
		return false;
	position.slot++;
	if (leaf->count < CODE_LEAF_SEGMENTS)
		insert_slot(leaf, position.slot, address, list);
	else if (position.slot == CODE_LEAF_SEGMENTS)
		insert_behind(segments, position.leaf, address, list);
	else
		insert_halving(segments, position, address, list);
	segments->segment_count++;
	*ret_list = list;
	return true;
}

int segment_list_append(struct segment_list *segments, uint64_t start, uint32_t list)
{
	struct code_leaf *leaf = segments->count ? segments->leaves[segments->count - 1] : NULL;
	int r;

	if (!leaf || leaf->count >= APPENDED_SEGMENTS) {
		r = segment_list_reserve(segments, 1);
		if (r < 0)
			return r;
		leaf = take_spare(segments);
		insert_slot(leaf, 0, start, list);
		insert_leaf(segments, segments->count, leaf);
	} else {
		insert_slot(leaf, leaf->count, start, list);
	}
	segments->segment_count++;
	return 0;
}

/* Returns whether to go on with the next leaf. */
static bool rewrite_leaf(struct code_leaf *leaf, uint32_t slot, uint64_t last,
	code_segment_function function, void *context)
{
	bool is_going = true;
	uint32_t kept = slot;

	for (; slot < leaf->count; slot++) {
		uint64_t start = leaf->starts[slot];
		uint32_t list = leaf->lists[slot];
		enum code_verdict verdict = CODE_STOP;

		if (is_going && start <= last)
			verdict = function(context, &list);
		if (verdict == CODE_MERGE)
			continue;
		is_going = verdict == CODE_KEEP;
		leaf->starts[kept] = start;
		leaf->lists[kept] = list;
		kept++;
	}
	leaf->count = kept;
	return is_going;
}

void segment_list_rewrite(struct segment_list *segments, uint64_t first, uint64_t last,
	code_segment_function function, void *context)
{
	struct code_position position = segment_list_find(segments, first);
	size_t leaf = position.leaf, kept = position.leaf;
	bool is_going = true;

	assert(segment_list_start(segments, position) == first);
	for (; leaf < segments->count && is_going && segments->starts[leaf] <= last; leaf++) {
		struct code_leaf *at = segments->leaves[leaf];

		segments->segment_count -= at->count;
		is_going = rewrite_leaf(at, position.slot, last, function, context);
		segments->segment_count += at->count;
		position.slot = 0;
		if (at->count == 0) {
			free(at);
			continue;
		}
		segments->starts[kept] = at->starts[0];
		segments->leaves[kept++] = at;
	}
	if (kept == leaf)
		return;
	memmove(segments->starts + kept, segments->starts + leaf,
		(segments->count - leaf) * sizeof(segments->starts[0]));
	memmove(segments->leaves + kept, segments->leaves + leaf,
		(segments->count - leaf) * sizeof(segments->leaves[0]));
	segments->count -= leaf - kept;
}
