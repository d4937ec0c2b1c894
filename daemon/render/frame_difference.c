/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "render/frame_difference.h"

#include "base/array.h"

#include <errno.h>
#include <string.h>

/* The weight of a whole. The sum of two is exact in the script's numbers. */
static const uint64_t WHOLE_WEIGHT = 1ULL << 40;

enum { MILLIONTHS = 1000000 };

struct merging {
	const struct profile_difference *difference;
	struct frame_difference *frames;
	size_t change_capacity;
	uint64_t weights[DIFFERENCE_SIDE_COUNT]; /* of a sample */
	uint32_t *labels[DIFFERENCE_SIDE_COUNT]; /* of the common tree, by the side's */
	uint32_t *binaries;			 /* of the compared side, by the base's */
};

static void merging_done(struct merging *merging)
{
	for (enum difference_side i = 0; i < DIFFERENCE_SIDE_COUNT; i++)
		free(merging->labels[i]);
	free(merging->binaries);
}

static uint64_t weight_of(const struct profile_difference *difference, enum difference_side side)
{
	uint64_t whole = difference->whole_millionths[side], weight;

	if (whole == 0)
		return 0;
	weight = (uint64_t)((unsigned __int128)WHOLE_WEIGHT * MILLIONTHS / whole);
	return weight > 0 ? weight : 1;
}

/* Both sides are sorted by the labels, so one pass finds those of either. */
static int merge_labels(struct merging *merging)
{
	const struct frame_labels *base = merging->frames->sides[DIFFERENCE_BASE]->labels;
	const struct frame_labels *compared = merging->frames->sides[DIFFERENCE_COMPARED]->labels;
	struct frame_labels *labels = merging->frames->tree->labels;
	size_t i = 0, j = 0;

	merging->labels[DIFFERENCE_BASE] = calloc(base->count, sizeof(uint32_t));
	merging->labels[DIFFERENCE_COMPARED] = calloc(compared->count, sizeof(uint32_t));
	labels->items = calloc(base->count + compared->count, sizeof(*labels->items));
	if (!merging->labels[DIFFERENCE_BASE] || !merging->labels[DIFFERENCE_COMPARED] ||
		!labels->items)
		return -ENOMEM;
	while (i < base->count || j < compared->count) {
		int order = i == base->count ? 1
			    : j == compared->count
				    ? -1
				    : frame_label_compare(&base->items[i], &compared->items[j]);

		labels->items[labels->count] = order < 0 ? base->items[i] : compared->items[j];
		if (order <= 0)
			merging->labels[DIFFERENCE_BASE][i++] = (uint32_t)labels->count;
		if (order >= 0)
			merging->labels[DIFFERENCE_COMPARED][j++] = (uint32_t)labels->count;
		labels->count++;
	}
	return 0;
}

static bool is_same_binary(
	const struct profile *a, uint32_t a_binary, const struct profile *b, uint32_t b_binary)
{
	return strcmp(string_pool_get(&a->strings, a->binaries.items[a_binary].path),
		       string_pool_get(&b->strings, b->binaries.items[b_binary].path)) == 0;
}

/* The binary with the same path; FRAME_NONE: there is none. The first search is remembered. */
static uint32_t compared_binary(struct merging *merging, uint32_t base_binary)
{
	const struct profile *const *sides = merging->difference->sides;
	const struct profile *compared = sides[DIFFERENCE_COMPARED];
	uint32_t *known, found = 0;

	if (base_binary == FRAME_NONE)
		return FRAME_NONE;
	known = &merging->binaries[base_binary];
	if (*known > 0)
		return *known - 1 < compared->binaries.count ? *known - 1 : FRAME_NONE;
	while (found < compared->binaries.count &&
		!is_same_binary(sides[DIFFERENCE_BASE], base_binary, compared, found))
		found++;
	*known = found + 1;
	return found < compared->binaries.count ? found : FRAME_NONE;
}

static void add_side(struct merging *merging, enum difference_side side, const struct frame *from,
	struct frame *frame, struct frame_change *change)
{
	uint64_t weight = merging->weights[side];

	change->total[side] = from->total;
	change->self[side] = from->self;
	frame->total += from->total * weight;
	frame->self += from->self * weight;
	frame->elided += from->elided * weight;
	if (from->elided_count > frame->elided_count)
		frame->elided_count = from->elided_count;
}

/* Appends the frame that one or both sides have; NULL: this side lacks it. */
static int append(struct merging *merging, const struct frame *base, const struct frame *compared)
{
	struct frame_tree *tree = merging->frames->tree;
	const struct frame *like = compared ? compared : base;
	enum difference_side side = compared ? DIFFERENCE_COMPARED : DIFFERENCE_BASE;
	struct frame_change change = { 0 };
	struct frame frame = {
		.label = merging->labels[side][like->label],
		.depth = like->depth,
		.binary = compared ? compared->binary : compared_binary(merging, base->binary),
		.place = compared ? compared->place : FRAME_NONE,
		.place_count = compared ? compared->place_count : 0,
		.place_total = compared ? compared->place_total : 0,
	};
	int r = ARRAY_RESERVE(tree->frames, &tree->capacity, tree->count + 1, UINT32_MAX);

	if (r == 0)
		r = ARRAY_RESERVE(merging->frames->changes, &merging->change_capacity,
			tree->count + 1, UINT32_MAX);
	if (r < 0)
		return r;
	if (base)
		add_side(merging, DIFFERENCE_BASE, base, &frame, &change);
	if (compared)
		add_side(merging, DIFFERENCE_COMPARED, compared, &frame, &change);
	merging->frames->changes[tree->count] = change;
	tree->frames[tree->count++] = frame;
	if (frame.depth > tree->depth)
		tree->depth = frame.depth;
	tree->elided += frame.elided;
	tree->elided_count += frame.elided_count;
	return 0;
}

/*
 * Less than 0: the base's frame comes first; 0: they are the same. A deeper frame belongs to the
 * subtree that is open; of equal depth, both have the same parent.
 */
static int compare_frames(
	const struct merging *merging, const struct frame *base, const struct frame *compared)
{
	uint32_t a, b;

	if (!base || !compared)
		return base ? -1 : 1;
	if (base->depth != compared->depth)
		return base->depth > compared->depth ? -1 : 1;
	a = merging->labels[DIFFERENCE_BASE][base->label];
	b = merging->labels[DIFFERENCE_COMPARED][compared->label];
	return (a > b) - (a < b);
}

static int merge_frames(struct merging *merging)
{
	const struct frame_tree *first = merging->frames->sides[DIFFERENCE_BASE];
	const struct frame_tree *second = merging->frames->sides[DIFFERENCE_COMPARED];
	size_t i = 0, j = 0;
	int r = 0;

	while (r == 0 && (i < first->count || j < second->count)) {
		const struct frame *base = i < first->count ? &first->frames[i] : NULL;
		const struct frame *compared = j < second->count ? &second->frames[j] : NULL;
		int order = compare_frames(merging, base, compared);

		r = append(merging, order <= 0 ? base : NULL, order >= 0 ? compared : NULL);
		i += order <= 0;
		j += order >= 0;
	}
	return r;
}

static int merge(struct merging *merging)
{
	struct frame_difference *frames = merging->frames;
	struct frame_tree *tree = calloc(1, sizeof(*tree));
	int r;

	frames->tree = tree;
	if (!tree)
		return -ENOMEM;
	tree->labels = calloc(1, sizeof(*tree->labels));
	merging->binaries = calloc(
		merging->difference->sides[DIFFERENCE_BASE]->binaries.count + 1, sizeof(uint32_t));
	if (!tree->labels || !merging->binaries)
		return -ENOMEM;
	r = merge_labels(merging);
	if (r < 0)
		return r;
	tree->places = TAKE_PTR(frames->sides[DIFFERENCE_COMPARED]->places);
	for (enum difference_side i = 0; i < DIFFERENCE_SIDE_COUNT; i++)
		merging->weights[i] = weight_of(merging->difference, i);
	return merge_frames(merging);
}

int frame_difference_new(const struct profile_difference *difference, enum frame_detail detail,
	const struct frame_budget *budget, struct frame_difference **ret_frames)
{
	_cleanup_(frame_difference_freep) struct frame_difference *frames =
		calloc(1, sizeof(*frames));
	_cleanup_(merging_done) struct merging merging = {
		.difference = difference,
		.frames = frames,
	};
	int r = 0;

	if (!frames)
		return -ENOMEM;
	for (enum difference_side i = 0; r == 0 && i < DIFFERENCE_SIDE_COUNT; i++)
		r = frame_tree_new_within(difference->sides[i], detail, budget, &frames->sides[i]);
	if (r == 0)
		r = merge(&merging);
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
	for (enum difference_side i = 0; i < DIFFERENCE_SIDE_COUNT; i++)
		frame_tree_free(frames->sides[i]);
	free(frames->changes);
	free(frames);
}
