/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "render/frame_difference.h"

#include "base/array.h"

#include <errno.h>

#define NOWHERE SIZE_MAX

/* A frame on the path from the base's root, and where in the tree it is. */
struct place_in_tree {
	size_t frame; /* NOWHERE: the tree has none */
	size_t child; /* the first child that is not yet matched or passed */
};

struct pairing {
	struct frame_difference *frames;
	uint32_t *labels;	    /* of the tree, by the base's; FRAME_NONE */
	size_t *ends;		    /* by frame of the tree: the end of its subtree */
	struct place_in_tree *path; /* by depth */
	size_t path_capacity;
};

static void pairing_done(struct pairing *pairing)
{
	free(pairing->labels);
	free(pairing->ends);
	free(pairing->path);
}

/* Both are sorted by the labels, so one pass finds the equal ones. */
static int match_labels(
	struct pairing *pairing, const struct frame_labels *drawn, const struct frame_labels *base)
{
	uint32_t at = 0;
	int order;

	pairing->labels = reallocarray(NULL, base->count, sizeof(*pairing->labels));
	if (!pairing->labels)
		return -ENOMEM;
	for (size_t i = 0; i < base->count; i++) {
		order = 1;
		while (at < drawn->count) {
			order = frame_label_compare(&base->items[i], &drawn->items[at]);
			if (order <= 0)
				break;
			at++;
		}
		pairing->labels[i] = order == 0 ? at : FRAME_NONE;
	}
	return 0;
}

/* In pre-order, the next frame that is not deeper ends a frame's subtree. */
static int find_ends(struct pairing *pairing)
{
	const struct frame_tree *tree = pairing->frames->tree;
	_cleanup_free_ size_t *open = calloc((size_t)tree->depth + 1, sizeof(*open));
	size_t open_count = 0;

	pairing->ends = reallocarray(NULL, tree->count, sizeof(*pairing->ends));
	if (!open || !pairing->ends)
		return -ENOMEM;
	for (size_t i = 0; i < tree->count; i++) {
		while (open_count > tree->frames[i].depth)
			pairing->ends[open[--open_count]] = i;
		open[open_count++] = i;
	}
	while (open_count > 0)
		pairing->ends[open[--open_count]] = tree->count;
	return 0;
}

/* Finds the child with the label. Callers ask for labels in their order. */
static size_t find_child(
	const struct pairing *pairing, struct place_in_tree *parent, uint32_t label)
{
	const struct frame *frames = pairing->frames->tree->frames;
	size_t end;

	if (parent->frame == NOWHERE || label == FRAME_NONE)
		return NOWHERE;
	end = pairing->ends[parent->frame];
	while (parent->child < end && frames[parent->child].label < label)
		parent->child = pairing->ends[parent->child];
	return parent->child < end && frames[parent->child].label == label ? parent->child
									   : NOWHERE;
}

static int pair(void *context, const struct frame *frame)
{
	struct pairing *pairing = context;
	struct frame_difference *frames = pairing->frames;
	size_t found = 0;
	int r;

	if (frame->depth > 0)
		found = find_child(
			pairing, &pairing->path[frame->depth - 1], pairing->labels[frame->label]);
	r = ARRAY_RESERVE(
		pairing->path, &pairing->path_capacity, (size_t)frame->depth + 1, UINT32_MAX);
	if (r < 0)
		return r;
	pairing->path[frame->depth] = (struct place_in_tree){ .frame = found, .child = found + 1 };
	if (found == NOWHERE) {
		frames->undrawn += frame->self;
		return 0;
	}
	frames->changes[found].total[DIFFERENCE_BASE] = frame->total;
	frames->changes[found].self[DIFFERENCE_BASE] = frame->self;
	return 0;
}

/* Visits the frames of the base and matches them with the tree. */
static int pair_frames(
	struct frame_difference *frames, const struct profile *base, enum frame_detail detail)
{
	_cleanup_(frame_labels_freep) struct frame_labels *labels = NULL;
	_cleanup_(pairing_done) struct pairing pairing = { .frames = frames };
	int r;

	r = frame_labels_new(base, detail, &labels);
	if (r < 0)
		return r;
	r = match_labels(&pairing, frames->tree->labels, labels);
	if (r < 0)
		return r;
	r = find_ends(&pairing);
	if (r < 0)
		return r;
	return frame_walk(base, labels, NULL, 0, pair, &pairing);
}

int frame_difference_new(const struct profile_difference *difference, enum frame_detail detail,
	uint64_t minimum, struct frame_difference **ret_frames)
{
	_cleanup_(frame_difference_freep) struct frame_difference *frames =
		calloc(1, sizeof(*frames));
	int r;

	if (!frames)
		return -ENOMEM;
	r = frame_tree_new(difference->sides[DIFFERENCE_COMPARED], detail, minimum, &frames->tree);
	if (r < 0)
		return r;
	frames->changes = calloc(frames->tree->count, sizeof(*frames->changes));
	if (!frames->changes)
		return -ENOMEM;
	for (size_t i = 0; i < frames->tree->count; i++) {
		frames->changes[i].total[DIFFERENCE_COMPARED] = frames->tree->frames[i].total;
		frames->changes[i].self[DIFFERENCE_COMPARED] = frames->tree->frames[i].self;
	}
	r = pair_frames(frames, difference->sides[DIFFERENCE_BASE], detail);
	if (r < 0)
		return r;
	*ret_frames = TAKE_PTR(frames);
	return 0;
}

void frame_difference_free(struct frame_difference *frames)
{
	if (!frames)
		return;
	frame_tree_free(frames->tree);
	free(frames->changes);
	free(frames);
}
