/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "render/frame_tree.h"

#include "base/array.h"

#include <errno.h>
#include <string.h>

/* The state of one walk. Without a budget `seen` is NULL. */
struct growth {
	struct frame_tree *tree;
	const struct frame_budget *budget;
	bool *seen; /* by label: the tree has a frame with it */
	size_t label_bytes;
	bool is_full;
};

static bool fits(struct growth *growth, const struct frame *frame)
{
	const struct frame_tree *tree = growth->tree;

	if (!growth->seen || tree->count == 0)
		return true;
	if (!growth->seen[frame->label])
		growth->label_bytes += tree->labels->items[frame->label].text_bytes;
	growth->seen[frame->label] = true;
	return tree->count < growth->budget->frames &&
	       growth->label_bytes <= growth->budget->label_bytes;
}

static int append(void *context, const struct frame *frame)
{
	struct growth *growth = context;
	struct frame_tree *tree = growth->tree;
	int r;

	growth->is_full = !fits(growth, frame);
	if (growth->is_full)
		return -E2BIG;
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

static int prepare(
	const struct profile *profile, enum frame_detail detail, struct frame_tree **ret_tree)
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
	*ret_tree = TAKE_PTR(tree);
	return 0;
}

int frame_tree_new(const struct profile *profile, enum frame_detail detail, uint64_t minimum,
	struct frame_tree **ret_tree)
{
	_cleanup_(frame_tree_freep) struct frame_tree *tree = NULL;
	struct growth growth = { 0 };
	int r;

	r = prepare(profile, detail, &tree);
	if (r < 0)
		return r;
	tree->minimum = minimum;
	growth.tree = tree;
	r = frame_walk(profile, tree->labels, tree->places, minimum, NULL, append, &growth);
	if (r < 0)
		return r;
	*ret_tree = TAKE_PTR(tree);
	return 0;
}

static void empty(struct frame_tree *tree)
{
	tree->count = 0;
	tree->depth = 0;
	tree->elided = 0;
	tree->elided_count = 0;
}

/* Doubles `*minimum` until the tree fits. A walk that fails costs no more than the budget. */
static int fit(const struct profile *profile, const struct frame_budget *budget, bool *seen,
	struct frame_focus *focus, uint64_t *minimum, struct frame_tree *tree)
{
	struct growth growth;
	int r;

	for (*minimum = 1;; *minimum = *minimum > UINT64_MAX / 2 ? UINT64_MAX : *minimum * 2) {
		empty(tree);
		memset(seen, 0, tree->labels->count * sizeof(*seen));
		growth = (struct growth){ .tree = tree, .budget = budget, .seen = seen };
		r = frame_walk(
			profile, tree->labels, tree->places, tree->minimum, focus, append, &growth);
		if (!growth.is_full || *minimum == UINT64_MAX)
			return r;
	}
}

static int fit_below(const struct profile *profile, const struct frame_budget *budget, bool *seen,
	struct frame_tree *tree)
{
	const struct frame_budget others = {
		.frames = budget->frames / 2,
		.label_bytes = budget->label_bytes / 2,
	};
	struct frame_focus focus = { 0 };
	int r = fit(profile, &others, seen, NULL, &tree->minimum, tree);

	if (r == 0)
		r = frame_path_find(tree->labels, budget->below, &focus.path);
	if (r == 0)
		r = fit(profile, budget, seen, &focus, &focus.minimum, tree);
	frame_path_done(&focus.path);
	/* The path alone is longer than the budget, or leads to nothing. */
	if (r == -E2BIG || (r == 0 && !focus.is_found))
		r = fit(profile, budget, seen, NULL, &tree->minimum, tree);
	return r;
}

int frame_tree_new_within(const struct profile *profile, enum frame_detail detail,
	const struct frame_budget *budget, struct frame_tree **ret_tree)
{
	_cleanup_(frame_tree_freep) struct frame_tree *tree = NULL;
	_cleanup_free_ bool *seen = NULL;
	int r;

	r = prepare(profile, detail, &tree);
	if (r < 0)
		return r;
	seen = calloc(tree->labels->count, sizeof(*seen));
	if (!seen)
		return -ENOMEM;
	r = fit(profile, budget, seen, NULL, &tree->minimum, tree);
	if (r == 0 && budget->below && tree->minimum > 1)
		r = fit_below(profile, budget, seen, tree);
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
