/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "render/function_totals.h"

#include "base/array.h"
#include "render/stack_branches.h"

#include <errno.h>

/*
 * Samples per slice. Totals are sums over stacks, so the tree can be processed in slices: memory is
 * bounded by the slice, and a slice fits the caches.
 */
enum { SLICE_SAMPLES = 64 * 1024 };

/* `functions` runs parallel to labels->chain; `on_path` counts a function's frames on the path. */
struct tally {
	const struct profile *profile;
	struct function_totals *totals;
	struct stack_branches branches;
	struct hash_index index;
	uint32_t *functions;
	uint32_t *on_path;
	uint32_t *path; /* branches from below the root to where we are */
	size_t path_count, path_capacity;
};

static void tally_done(struct tally *tally)
{
	stack_branches_done(&tally->branches);
	hash_index_done(&tally->index);
	free(tally->functions);
	free(tally->on_path);
	free(tally->path);
}

static bool function_equal(const void *owner, uint32_t id, const void *key)
{
	const struct function_total *item = &((const struct function_totals *)owner)->items[id];
	const struct function_total *wanted = key;

	return item->label == wanted->label && item->binary == wanted->binary;
}

static int intern(struct tally *tally, uint32_t label, uint32_t binary, uint32_t *ret_function)
{
	struct function_totals *totals = tally->totals;
	struct function_total key = { .label = label, .binary = binary };
	uint64_t hash = hash_pair(label, binary);
	uint32_t id = hash_index_find(&tally->index, hash, function_equal, totals, &key);
	int r;

	if (id == HASH_INDEX_NONE) {
		r = ARRAY_RESERVE(
			totals->items, &totals->capacity, totals->count + 1, FRAME_NONE - 1);
		if (r < 0)
			return r;
		r = hash_index_reserve(&tally->index);
		if (r < 0)
			return r;
		id = (uint32_t)totals->count++;
		totals->items[id] = key;
		hash_index_insert(&tally->index, hash, id);
	}
	*ret_function = id;
	return 0;
}

static int find_functions(struct tally *tally)
{
	const struct frame_labels *labels = tally->totals->labels;
	int r;

	tally->functions = calloc(labels->chain_count + 1, sizeof(*tally->functions));
	if (!tally->functions)
		return -ENOMEM;
	for (size_t i = 0; i < tally->profile->locations.count; i++) {
		const struct frame_chain *chain = &labels->chains[i];

		for (uint32_t j = chain->first; j < chain->first + chain->count; j++) {
			r = intern(
				tally, labels->chain[j], chain->binary_rank, &tally->functions[j]);
			if (r < 0)
				return r;
		}
	}
	tally->on_path = calloc(tally->totals->count + 1, sizeof(*tally->on_path));
	return tally->on_path ? 0 : -ENOMEM;
}

static const struct frame_chain *chain_of(const struct tally *tally, uint32_t location)
{
	return &tally->totals->labels->chains[location];
}

static int enter(struct tally *tally, uint32_t branch)
{
	const struct stack_branch *item = &tally->branches.items[branch];
	const struct frame_chain *chain = chain_of(tally, item->location);
	struct function_total *functions = tally->totals->items;
	int r;

	r = ARRAY_RESERVE(tally->path, &tally->path_capacity, tally->path_count + 1, UINT32_MAX);
	if (r < 0)
		return r;
	tally->path[tally->path_count++] = branch;
	for (uint32_t i = chain->first; i < chain->first + chain->count; i++)
		if (tally->on_path[tally->functions[i]]++ == 0)
			functions[tally->functions[i]].total += item->total;
	return 0;
}

static uint32_t leave(struct tally *tally)
{
	uint32_t branch = tally->path[--tally->path_count];
	const struct frame_chain *chain = chain_of(tally, tally->branches.items[branch].location);

	for (uint32_t i = chain->first; i < chain->first + chain->count; i++)
		tally->on_path[tally->functions[i]]--;
	return branch;
}

/* Visits the slice's stacks depth first. */
static int add_slice(struct tally *tally)
{
	const struct stack_branch *items = tally->branches.items;
	uint32_t next = items[STACK_ROOT].first_child;
	int r;

	while (next || tally->path_count > 0) {
		if (!next) {
			next = items[leave(tally)].next_sibling;
			continue;
		}
		r = enter(tally, next);
		if (r < 0)
			return r;
		next = items[next].first_child;
	}
	return 0;
}

static int add_totals(struct tally *tally)
{
	size_t count = tally->profile->samples.count;
	int r = 0;

	for (size_t first = 0; r == 0 && first < count; first += SLICE_SAMPLES) {
		size_t rest = count - first;

		stack_branches_fill(
			&tally->branches, first, rest < SLICE_SAMPLES ? rest : SLICE_SAMPLES);
		r = add_slice(tally);
	}
	return r;
}

static void add_selves(struct tally *tally)
{
	struct function_totals *totals = tally->totals;

	for (size_t i = 0; i < tally->profile->samples.count; i++) {
		const struct profile_sample *sample = &tally->profile->samples.items[i];
		const struct frame_chain *chain;

		totals->samples += sample->count;
		if (sample->node == PROFILE_ROOT) {
			totals->without_stack += sample->count;
			continue;
		}
		chain = chain_of(tally, tally->profile->nodes.items[sample->node].location);
		totals->items[tally->functions[chain->first + chain->count - 1]].self +=
			sample->count;
	}
}

static int compare_functions(const void *a, const void *b)
{
	const struct function_total *first = a, *second = b;

	if (first->self != second->self)
		return first->self > second->self ? -1 : 1;
	if (first->total != second->total)
		return first->total > second->total ? -1 : 1;
	if (first->label != second->label)
		return first->label < second->label ? -1 : 1;
	return first->binary < second->binary ? -1 : first->binary > second->binary;
}

/* Sorts while `binary` is still a rank, whose order does not depend on how the profile was filled.
 */
static void sort_functions(struct function_totals *totals)
{
	size_t kept = 0;

	for (size_t i = 0; i < totals->count; i++)
		if (totals->items[i].total > 0)
			totals->items[kept++] = totals->items[i];
	totals->count = kept;
	if (kept > 0)
		qsort(totals->items, kept, sizeof(*totals->items), compare_functions);
	for (size_t i = 0; i < kept; i++)
		totals->items[i].binary = totals->labels->ranked_binaries[totals->items[i].binary];
}

int function_totals_new(const struct profile *profile, enum frame_detail detail,
	struct function_totals **ret_totals)
{
	_cleanup_(function_totals_freep) struct function_totals *totals =
		calloc(1, sizeof(*totals));
	_cleanup_(tally_done) struct tally tally = { .profile = profile, .totals = totals };
	int r;

	if (!totals)
		return -ENOMEM;
	r = frame_labels_new(profile, detail, &totals->labels);
	if (r < 0)
		return r;
	r = find_functions(&tally);
	if (r < 0)
		return r;
	r = stack_branches_init(&tally.branches, profile);
	if (r < 0)
		return r;
	r = add_totals(&tally);
	if (r < 0)
		return r;
	add_selves(&tally);
	sort_functions(totals);
	*ret_totals = TAKE_PTR(totals);
	return 0;
}

void function_totals_free(struct function_totals *totals)
{
	if (!totals)
		return;
	frame_labels_free(totals->labels);
	free(totals->items);
	free(totals);
}
