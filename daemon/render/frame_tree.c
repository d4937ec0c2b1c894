/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "render/frame_tree.h"

#include "base/array.h"

#include <errno.h>

static int append(void *context, const struct frame *frame)
{
	struct frame_tree *tree = context;
	int r;

	r = ARRAY_RESERVE(tree->frames, &tree->capacity, tree->count + 1, UINT32_MAX);
	if (r < 0)
		return r;
	tree->frames[tree->count++] = *frame;
	if (frame->depth > tree->depth)
		tree->depth = frame->depth;
	tree->elided += frame->elided;
	tree->elided_count += frame->elided_count;
	return 0;
}

int frame_tree_new(const struct profile *profile, enum frame_detail detail, uint64_t minimum,
	struct frame_tree **ret_tree)
{
	_cleanup_(frame_tree_freep) struct frame_tree *tree = calloc(1, sizeof(*tree));
	int r;

	if (!tree)
		return -ENOMEM;
	r = frame_labels_new(profile, detail, &tree->labels);
	if (r < 0)
		return r;
	r = frame_places_new(profile, tree->labels, &tree->places);
	if (r < 0)
		return r;
	r = frame_walk(profile, tree->labels, tree->places, minimum, append, tree);
	if (r < 0)
		return r;
	*ret_tree = TAKE_PTR(tree);
	return 0;
}

void frame_tree_free(struct frame_tree *tree)
{
	if (!tree)
		return;
	frame_labels_free(tree->labels);
	frame_places_free(tree->places);
	free(tree->frames);
	free(tree);
}
