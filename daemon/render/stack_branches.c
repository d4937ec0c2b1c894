/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "render/stack_branches.h"

#include <errno.h>
#include <string.h>

/* Chosen samples and their nodes are far apart in memory, so prefetch them. */
enum { PREFETCH_SAMPLES = 12 };

int stack_branches_init(struct stack_branches *branches, const struct profile *profile)
{
	size_t count = profile->nodes.count;
	_cleanup_free_ uint32_t *numbers = calloc(count, sizeof(*numbers));
	struct stack_branch *items = reallocarray(NULL, count, sizeof(*items));

	if (!numbers || !items) {
		free(items);
		return -ENOMEM;
	}
	*branches = (struct stack_branches){ .profile = profile, .items = items, .base = 1 };
	branches->numbers = TAKE_PTR(numbers);
	return 0;
}

void stack_branches_done(struct stack_branches *branches)
{
	free(branches->items);
	free(branches->numbers);
	*branches = (struct stack_branches){ 0 };
}

/* Returns the branch of a node. Creates missing branches of the node and its ancestors. */
static uint32_t reach(struct stack_branches *branches, uint32_t node)
{
	const struct profile_node *nodes = branches->profile->nodes.items;
	uint32_t *numbers = branches->numbers, base = branches->base;
	uint32_t missing = 0, top = node, first = branches->count;

	for (; numbers[top] < base; top = nodes[top].parent)
		missing++;
	if (missing == 0)
		return numbers[node] - base;
	branches->count += missing;
	/* From the leaf down to `first`, each in front of its child. */
	for (uint32_t i = first + missing - 1; node != top; i--, node = nodes[node].parent) {
		branches->items[i] = (struct stack_branch){
			.location = nodes[node].location,
			.next_sibling = i > first ? i - 1 : numbers[top] - base,
		};
		numbers[node] = base + i;
	}
	return first + missing - 1;
}

/* Replaces links to parents by links to children, and adds up samples from the leaves. */
static void link_children(struct stack_branches *branches)
{
	struct stack_branch *items = branches->items;

	for (uint32_t i = branches->count - 1; i > STACK_ROOT; i--) {
		struct stack_branch *parent = &items[items[i].next_sibling];

		parent->total += items[i].total;
		items[i].next_sibling = parent->first_child;
		parent->first_child = i;
	}
}

static void begin(struct stack_branches *branches)
{
	size_t node_count = branches->profile->nodes.count;

	branches->base += branches->count;
	if (branches->base > UINT32_MAX - node_count) {
		memset(branches->numbers, 0, node_count * sizeof(*branches->numbers));
		branches->base = 1;
	}
	branches->items[STACK_ROOT] = (struct stack_branch){ .location = UINT32_MAX };
	branches->numbers[PROFILE_ROOT] = branches->base + STACK_ROOT;
	branches->count = 1;
}

void stack_branches_fill(struct stack_branches *branches, size_t first, size_t count)
{
	const struct profile_sample *samples = branches->profile->samples.items + first;

	begin(branches);
	for (size_t i = 0; i < count; i++)
		branches->items[reach(branches, samples[i].node)].total += samples[i].count;
	link_children(branches);
}

void stack_branches_fill_chosen(
	struct stack_branches *branches, const uint32_t *chosen, size_t count)
{
	const struct profile_sample *samples = branches->profile->samples.items;
	const struct profile_node *nodes = branches->profile->nodes.items;

	begin(branches);
	for (size_t i = 0; i < count; i++) {
		const struct profile_sample *sample = &samples[chosen[i]];

		if (count - i > 2 * PREFETCH_SAMPLES) {
			uint32_t soon = samples[chosen[i + PREFETCH_SAMPLES]].node;

			__builtin_prefetch(&samples[chosen[i + 2 * PREFETCH_SAMPLES]]);
			__builtin_prefetch(&nodes[soon]);
			__builtin_prefetch(&branches->numbers[soon]);
		}
		branches->items[reach(branches, sample->node)].total += sample->count;
	}
	link_children(branches);
}
