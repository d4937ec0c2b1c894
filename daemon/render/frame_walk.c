/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "render/frame_walk.h"

#include "base/array.h"
#include "render/stack_branches.h"

#include <errno.h>
#include <string.h>

/* One frame of one branch: the frame `position` of the chain of its location. */
struct part {
	uint32_t label;
	uint32_t branch;
	uint32_t position;
};

/*
 * The children of a frame on the path from the root: parts[next] to parts[end - 1] are still to be
 * visited.
 */
struct level {
	size_t begin, next, end;
};

struct walk {
	const struct profile *profile;
	const struct frame_labels *labels;
	const struct frame_places *places; /* NULL: not asked for */
	uint64_t minimum;
	struct frame_focus *focus; /* NULL: none */
	size_t focus_depth;	   /* how many frames of its path lead to the one that is walked */
	frame_visit visit;
	void *context;

	struct stack_branches branches;
	struct part *parts, *scratch;
	size_t part_count, part_capacity, scratch_capacity;
	struct level *levels;
	size_t level_count, level_capacity;

	/* The root's children by label: samples below, and which of `order` are theirs. */
	uint64_t *top_totals;
	uint32_t *top_ends;
	uint32_t *order; /* ids of samples, by comm */

	uint64_t *place_totals; /* of one frame, by place; else 0 */
};

static void walk_done(struct walk *walk)
{
	stack_branches_done(&walk->branches);
	free(walk->parts);
	free(walk->scratch);
	free(walk->levels);
	free(walk->top_totals);
	free(walk->top_ends);
	free(walk->order);
	free(walk->place_totals);
}

static const struct frame_chain *chain_of(const struct walk *walk, uint32_t branch)
{
	return &walk->labels->chains[walk->branches.items[branch].location];
}

/*
 * Most frames have few siblings. For many, a radix sort: folded stacks take 1.6 times the CPU time
 * with qsort() (tests/bench/render.sh).
 */
enum { FEW_PARTS = 32, DIGIT_BITS = 8, DIGITS = 1 << DIGIT_BITS };

static void sort_few(struct part *parts, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		struct part part = parts[i];
		size_t j = i;

		for (; j > 0 && parts[j - 1].label > part.label; j--)
			parts[j] = parts[j - 1];
		parts[j] = part;
	}
}

static void sort_by_digit(struct part *to, const struct part *from, size_t count, unsigned shift)
{
	size_t starts[DIGITS + 1] = { 0 };

	for (size_t i = 0; i < count; i++)
		starts[(from[i].label >> shift) % DIGITS + 1]++;
	for (size_t i = 0; i < DIGITS; i++)
		starts[i + 1] += starts[i];
	for (size_t i = 0; i < count; i++)
		to[starts[(from[i].label >> shift) % DIGITS]++] = from[i];
}

static int sort_parts(struct walk *walk, size_t begin)
{
	struct part *parts = walk->parts + begin;
	size_t count = walk->part_count - begin;
	struct part *from = parts, *to, *swap;
	int r;

	if (count <= FEW_PARTS) {
		sort_few(parts, count);
		return 0;
	}
	r = ARRAY_RESERVE(walk->scratch, &walk->scratch_capacity, count, SIZE_MAX);
	if (r < 0)
		return r;
	to = walk->scratch;
	for (unsigned shift = 0; shift < 32 && walk->labels->count >> shift; shift += DIGIT_BITS) {
		sort_by_digit(to, from, count, shift);
		swap = from;
		from = to;
		to = swap;
	}
	if (from != parts)
		memcpy(parts, from, count * sizeof(*parts));
	return 0;
}

static int push_part(struct walk *walk, uint32_t label, uint32_t branch, uint32_t position)
{
	int r = ARRAY_RESERVE(walk->parts, &walk->part_capacity, walk->part_count + 1, UINT32_MAX);

	if (r < 0)
		return r;
	walk->parts[walk->part_count++] =
		(struct part){ .label = label, .branch = branch, .position = position };
	return 0;
}

/* Adds the children of the last frame of `branch`; the remaining samples are the frame's own. */
static int push_children(struct walk *walk, uint32_t branch, uint64_t *self)
{
	const struct stack_branch *items = walk->branches.items;
	uint64_t rest = items[branch].total;
	int r;

	for (uint32_t child = items[branch].first_child; child; child = items[child].next_sibling) {
		if (items[child].total == 0)
			continue;
		rest -= items[child].total;
		r = push_part(walk, walk->labels->chain[chain_of(walk, child)->first], child, 0);
		if (r < 0)
			return r;
	}
	*self += rest;
	return 0;
}

static size_t run_end(const struct walk *walk, size_t begin, size_t end, uint64_t *ret_total)
{
	uint64_t total = 0;
	size_t i = begin;

	while (i < end && walk->parts[i].label == walk->parts[begin].label)
		total += walk->branches.items[walk->parts[i++].branch].total;
	*ret_total = total;
	return i;
}

/* Enters a frame. Frames come in pre-order, so one at this depth or above has left the path. */
static void follow_focus(struct walk *walk, const struct frame *frame)
{
	const size_t above = frame->depth - 1;

	if (!walk->focus)
		return;
	if (walk->focus_depth > above)
		walk->focus_depth = above;
	if (walk->focus_depth == above && above < walk->focus->path.count &&
		walk->focus->path.labels[above] == frame->label)
		walk->focus_depth++;
	if (walk->focus_depth == walk->focus->path.count)
		walk->focus->is_found = true;
}

/* A child of the frame of this depth that was entered last. */
static bool is_small(const struct walk *walk, size_t depth, uint32_t label, uint64_t total)
{
	const struct frame_focus *focus = walk->focus;

	if (focus && walk->focus_depth == focus->path.count)
		return total < focus->minimum;
	return total < walk->minimum &&
	       !(focus && walk->focus_depth == depth && focus->path.labels[depth] == label);
}

/* Removes children below the minimum from the sorted parts from `begin` on. */
static void elide(struct walk *walk, size_t begin, struct frame *frame)
{
	size_t kept = begin, end;
	uint64_t total;

	if (walk->minimum <= 1)
		return;
	for (size_t i = begin; i < walk->part_count; i = end) {
		end = run_end(walk, i, walk->part_count, &total);
		if (is_small(walk, frame->depth, walk->parts[i].label, total)) {
			frame->elided += total;
			frame->elided_count++;
			continue;
		}
		memmove(walk->parts + kept, walk->parts + i, (end - i) * sizeof(*walk->parts));
		kept += end - i;
	}
	walk->part_count = kept;
}

/* Visits a frame whose children's parts have been pushed from `begin` on. */
static int finish_frame(struct walk *walk, size_t begin, struct frame *frame)
{
	int r;

	r = sort_parts(walk, begin);
	if (r < 0)
		return r;
	follow_focus(walk, frame);
	elide(walk, begin, frame);
	r = walk->visit(walk->context, frame);
	if (r != 0)
		return r;
	r = ARRAY_RESERVE(walk->levels, &walk->level_capacity, walk->level_count + 1, UINT32_MAX);
	if (r < 0)
		return r;
	walk->levels[walk->level_count++] =
		(struct level){ .begin = begin, .next = begin, .end = walk->part_count };
	return 0;
}

static uint32_t place_of(const struct walk *walk, const struct part *part)
{
	return walk->places->chain[chain_of(walk, part->branch)->first + part->position];
}

/* The place with the most samples; of equals, the first in the source. */
static void find_place(struct walk *walk, size_t begin, size_t end, struct frame *frame)
{
	uint64_t *totals = walk->place_totals;
	uint32_t place;

	if (!walk->places)
		return;
	for (size_t i = begin; i < end; i++) {
		place = place_of(walk, &walk->parts[i]);
		if (place == FRAME_NONE)
			continue;
		if (totals[place] == 0)
			frame->place_count++;
		totals[place] += walk->branches.items[walk->parts[i].branch].total;
		if (totals[place] < frame->place_total ||
			(totals[place] == frame->place_total && place > frame->place))
			continue;
		frame->place = place;
		frame->place_total = totals[place];
	}
	for (size_t i = begin; i < end; i++) {
		place = place_of(walk, &walk->parts[i]);
		if (place != FRAME_NONE)
			totals[place] = 0;
	}
}

/* The frame that parts[begin] to parts[end - 1] make up. */
static int walk_frame(struct walk *walk, size_t begin, size_t end, uint64_t total)
{
	/* The root is no level of this walk, but the comm is. */
	struct frame frame = { .label = walk->parts[begin].label,
		.depth = (uint32_t)walk->level_count + 1,
		.place = FRAME_NONE,
		.total = total };
	size_t children = walk->part_count;
	uint32_t rank = UINT32_MAX;
	int r;

	for (size_t i = begin; i < end; i++) {
		struct part part = walk->parts[i];
		const struct frame_chain *chain = chain_of(walk, part.branch);
		uint32_t next = part.position + 1;

		if (chain->binary_rank < rank)
			rank = chain->binary_rank;
		if (next < chain->count)
			r = push_part(
				walk, walk->labels->chain[chain->first + next], part.branch, next);
		else
			r = push_children(walk, part.branch, &frame.self);
		if (r < 0)
			return r;
	}
	frame.binary = walk->labels->ranked_binaries[rank];
	find_place(walk, begin, end, &frame);
	return finish_frame(walk, children, &frame);
}

/* The comm itself, whose children are the stacks' outermost frames. */
static int walk_comm(struct walk *walk, uint32_t label)
{
	const uint32_t *samples = walk->order + (label > 0 ? walk->top_ends[label - 1] : 0);
	size_t sample_count = (size_t)(walk->order + walk->top_ends[label] - samples);
	struct frame frame = { .label = label,
		.depth = 1,
		.binary = FRAME_NONE,
		.place = FRAME_NONE,
		.total = walk->top_totals[label] };
	struct level *level;
	size_t begin;
	uint64_t total;
	int r;

	stack_branches_fill_chosen(&walk->branches, samples, sample_count);
	walk->part_count = 0;
	walk->level_count = 0;
	r = push_children(walk, STACK_ROOT, &frame.self);
	if (r < 0)
		return r;
	r = finish_frame(walk, 0, &frame);
	while (r == 0 && walk->level_count > 0) {
		level = &walk->levels[walk->level_count - 1];
		if (level->next == level->end) {
			walk->part_count = level->begin;
			walk->level_count--;
			continue;
		}
		begin = level->next;
		level->next = run_end(walk, begin, level->end, &total);
		r = walk_frame(walk, begin, level->next, total);
	}
	return r;
}

/* Sorts the samples by comm, and adds up the children of the root. */
static int sort_samples(struct walk *walk)
{
	const struct profile *profile = walk->profile;
	size_t label_count = walk->labels->count, sample_count = profile->samples.count;
	uint32_t label, end = 0, count;

	walk->top_totals = calloc(label_count, sizeof(*walk->top_totals));
	walk->top_ends = calloc(label_count, sizeof(*walk->top_ends));
	walk->order = reallocarray(NULL, sample_count + 1, sizeof(*walk->order));
	if (!walk->top_totals || !walk->top_ends || !walk->order)
		return -ENOMEM;

	for (size_t i = 0; i < sample_count; i++)
		walk->top_ends[walk->labels->comms[profile->samples.items[i].thread]]++;
	for (size_t i = 0; i < label_count; i++) {
		count = walk->top_ends[i];
		walk->top_ends[i] = end;
		end += count;
	}
	/* Each start becomes the end while its samples are put in. */
	for (uint32_t i = 0; i < sample_count; i++) {
		label = walk->labels->comms[profile->samples.items[i].thread];
		walk->order[walk->top_ends[label]++] = i;
		walk->top_totals[label] += profile->samples.items[i].count;
	}
	for (enum pilotlight_drop i = 0; i < PILOTLIGHT_DROP_COUNT; i++)
		if (walk->labels->losses[i] != FRAME_NONE)
			walk->top_totals[walk->labels->losses[i]] += frame_loss(profile, i);
	return 0;
}

static int visit_root(struct walk *walk)
{
	struct frame root = {
		.label = walk->labels->root, .binary = FRAME_NONE, .place = FRAME_NONE
	};

	for (size_t i = 0; i < walk->labels->count; i++) {
		root.total += walk->top_totals[i];
		if (walk->top_totals[i] == 0 ||
			!is_small(walk, 0, (uint32_t)i, walk->top_totals[i]))
			continue;
		root.elided += walk->top_totals[i];
		root.elided_count++;
	}
	return walk->visit(walk->context, &root);
}

int frame_walk(const struct profile *profile, const struct frame_labels *labels,
	const struct frame_places *places, uint64_t minimum, struct frame_focus *focus,
	frame_visit visit, void *context)
{
	_cleanup_(walk_done) struct walk walk = { .profile = profile,
		.labels = labels,
		.places = places && places->count > 0 ? places : NULL,
		.minimum = minimum > 0 ? minimum : 1,
		.focus = focus,
		.visit = visit,
		.context = context };
	int r;

	r = sort_samples(&walk);
	if (r < 0)
		return r;
	if (walk.places) {
		walk.place_totals = calloc(walk.places->count, sizeof(*walk.place_totals));
		if (!walk.place_totals)
			return -ENOMEM;
	}
	r = stack_branches_init(&walk.branches, profile);
	if (r < 0)
		return r;
	r = visit_root(&walk);
	for (uint32_t i = 0; r == 0 && i < labels->count; i++) {
		struct frame loss = {
			.label = i, .depth = 1, .binary = FRAME_NONE, .place = FRAME_NONE
		};

		loss.self = loss.total = walk.top_totals[i];
		walk.focus_depth = 0;
		if (loss.total == 0 || is_small(&walk, 0, i, loss.total))
			continue;
		if (labels->items[i].kind == FRAME_COMM)
			r = walk_comm(&walk, i);
		else
			r = visit(context, &loss);
	}
	return r;
}
