/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/symbol_claims.h"

#include "base/cleanup.h"
#include "base/scratch.h"

static const uint32_t NONE = UINT32_MAX;

/*
 * The state at one address. For each kind, the claims that contain the address and may yet get
 * code are a stack: ends descend from bottom to top, and the top has the greatest start.
 */
struct sweep {
	struct symbol_claim *claims;
	size_t count;
	struct scratch_array stacks[SYMBOL_CLAIM_KINDS]; /* of uint32_t; guesses need none */
	uint32_t guess;
	uint64_t position; /* everything before it is done */

	uint32_t range_claim; /* a range that may still grow; NONE */
	uint64_t range_start, range_end;

	symbol_claims_prefer prefer;
	symbol_claims_visit visit;
	void *context;
};

static uint64_t start_key(const void *item)
{
	return ((const struct symbol_claim *)item)->start;
}

/* Guesses sort before the claims that hide them. */
static uint64_t kind_key(const void *item)
{
	return ((const struct symbol_claim *)item)->kind;
}

static uint64_t end_key(const void *item)
{
	return ~((const struct symbol_claim *)item)->end;
}

static uint64_t rank_key(const void *item)
{
	return (uint8_t) ~((const struct symbol_claim *)item)->rank;
}

static int finish_range(struct sweep *sweep)
{
	uint32_t claim = sweep->range_claim;

	sweep->range_claim = NONE;
	if (claim == NONE)
		return 0;
	return sweep->visit(
		sweep->context, &sweep->claims[claim], sweep->range_start, sweep->range_end);
}

static int add_range(struct sweep *sweep, uint32_t claim, uint64_t end)
{
	int r;

	if (claim != sweep->range_claim || sweep->range_end != sweep->position) {
		r = finish_range(sweep);
		if (r < 0)
			return r;
		sweep->range_claim = claim;
		sweep->range_start = sweep->position;
	}
	sweep->range_end = end;
	sweep->position = end;
	return 0;
}

/* Returns the top of a stack after removing ended claims; NONE if it is empty. */
static uint32_t get_top(struct sweep *sweep, enum symbol_claim_kind kind)
{
	struct scratch_array *stack = &sweep->stacks[kind];
	const uint32_t *items = stack->items;

	while (stack->count > 0) {
		uint32_t claim = items[stack->count - 1];

		if (sweep->claims[claim].end > sweep->position)
			return claim;
		stack->count--;
	}
	return NONE;
}

static uint32_t get_owner(struct sweep *sweep)
{
	uint32_t claim = get_top(sweep, SYMBOL_CLAIM_FUNCTION);

	if (claim == NONE)
		claim = get_top(sweep, SYMBOL_CLAIM_LABEL);
	if (claim == NONE && sweep->guess != NONE &&
		sweep->claims[sweep->guess].end > sweep->position)
		claim = sweep->guess;
	return claim;
}

/* Visits the ranges from the position to `until`, between which no claim begins. */
static int advance(struct sweep *sweep, uint64_t until)
{
	int r;

	while (sweep->position < until) {
		uint32_t claim = get_owner(sweep);
		uint64_t end;

		if (claim == NONE) {
			sweep->position = until;
			break;
		}
		end = sweep->claims[claim].end;
		r = add_range(sweep, claim, end < until ? end : until);
		if (r < 0)
			return r;
	}
	return 0;
}

static bool is_better(struct sweep *sweep, uint32_t claim, uint32_t best)
{
	const struct symbol_claim *a = &sweep->claims[claim], *b = &sweep->claims[best];

	if (a->rank != b->rank)
		return a->rank > b->rank;
	return sweep->prefer(sweep->context, a, b);
}

static int push(struct sweep *sweep, uint32_t claim)
{
	struct scratch_array *stack = &sweep->stacks[sweep->claims[claim].kind];
	const uint32_t *items = stack->items;

	/* A claim that ends before a later one can never get code again. */
	while (stack->count > 0 &&
		sweep->claims[items[stack->count - 1]].end <= sweep->claims[claim].end)
		stack->count--;
	return scratch_array_append(stack, &claim, sizeof(claim));
}

/*
 * Keeps the useful claims of one start and kind, sorted by descending end: each must be better
 * than all that reach at least as far. Returns the end of the group.
 */
static int push_group(struct sweep *sweep, uint32_t first, uint32_t *ret_end)
{
	const struct symbol_claim *claims = sweep->claims;
	uint32_t best = first, i;
	int r;

	/* A claim that contains the guess ends behind it, and the guess ends there too. */
	if (claims[first].kind == SYMBOL_CLAIM_GUESS)
		sweep->guess = get_top(sweep, SYMBOL_CLAIM_FUNCTION) == NONE &&
					       get_top(sweep, SYMBOL_CLAIM_LABEL) == NONE
				       ? first
				       : NONE;
	else
		sweep->guess = NONE;
	for (i = first; i < sweep->count; i++) {
		if (claims[i].start != claims[first].start || claims[i].kind != claims[first].kind)
			break;
		if (i > first && !is_better(sweep, i, best))
			continue;
		best = i;
		if (claims[i].kind == SYMBOL_CLAIM_GUESS) {
			if (sweep->guess != NONE)
				sweep->guess = i;
			continue;
		}
		r = push(sweep, i);
		if (r < 0)
			return r;
	}
	*ret_end = i;
	return 0;
}

static int sweep_all(struct sweep *sweep)
{
	uint32_t i = 0;
	int r;

	while (i < sweep->count) {
		r = advance(sweep, sweep->claims[i].start);
		if (r == 0)
			r = push_group(sweep, i, &i);
		if (r < 0)
			return r;
	}
	r = advance(sweep, UINT64_MAX);
	return r < 0 ? r : finish_range(sweep);
}

static void sweep_done(struct sweep *sweep)
{
	for (size_t kind = 0; kind < SYMBOL_CLAIM_KINDS; kind++)
		scratch_array_done(&sweep->stacks[kind]);
}

int symbol_claims_each(struct scratch_array *array, symbol_claims_prefer prefer,
	symbol_claims_visit visit, void *context)
{
	static const scratch_sort_key keys[] = { start_key, kind_key, end_key, rank_key };
	_cleanup_(sweep_done) struct sweep sweep = {
		.count = array->count,
		.guess = NONE,
		.range_claim = NONE,
		.prefer = prefer,
		.visit = visit,
		.context = context,
	};
	int r;

	r = scratch_sort(array, keys, sizeof(keys) / sizeof(keys[0]));
	if (r < 0)
		return r;
	sweep.claims = array->items;
	for (size_t kind = SYMBOL_CLAIM_LABEL; kind < SYMBOL_CLAIM_KINDS; kind++) {
		r = scratch_array_init(&sweep.stacks[kind], array->scratch, sizeof(uint32_t),
			array->count > 0 ? array->count : 1);
		if (r < 0)
			return r;
	}
	return sweep_all(&sweep);
}
