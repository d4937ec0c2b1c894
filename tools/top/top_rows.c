/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/top/top_rows.h"

#include "base/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static size_t position_of(const struct top_open *open, uint64_t path)
{
	size_t at = 0;

	while (at < open->count && open->paths[at] != path)
		at++;
	return at;
}

bool top_open_has(const struct top_open *open, uint64_t path)
{
	return position_of(open, path) < open->count;
}

bool top_open_add(struct top_open *open, uint64_t path)
{
	if (top_open_has(open, path))
		return true;
	if (open->count == TOP_OPEN_MAX)
		return false;
	open->paths[open->count++] = path;
	return true;
}

void top_open_remove(struct top_open *open, uint64_t path)
{
	size_t at = position_of(open, path);

	if (at < open->count)
		open->paths[at] = open->paths[--open->count];
}

/* The state of top_rows_make(). */
struct listing {
	const struct top_profile *profile;
	const struct top_order *order;
	struct top_rows *rows;
	uint8_t *marks;		 /* MARK_…, by node; NULL: no filter */
	struct top_row *pending; /* a stack of rows of the tree */
	size_t pending_count, pending_capacity;
};

enum { MARK_SHOWN = 1, MARK_HAS_MATCHES = 2, MARK_MATCHES = 4 };

static bool matches(const struct listing *listing, uint32_t name)
{
	return !*listing->order->filter ||
	       strcasestr(string_pool_get(&listing->profile->names, name), listing->order->filter);
}

/* By its name, or another that its row shows. */
static bool matches_function(const struct listing *listing, const struct top_function *function)
{
	return matches(listing, function->name) || matches(listing, function->unit) ||
	       matches(listing, function->thread) || matches(listing, function->binary);
}

/* The greatest first. Equal rows are sorted by name, so that they keep their places. */
static int compare(const struct top_row *x, const struct top_row *y,
	const struct top_profile *profile, bool by_total)
{
	uint64_t first[2] = { by_total ? x->total : x->self, by_total ? x->self : x->total };
	uint64_t second[2] = { by_total ? y->total : y->self, by_total ? y->self : y->total };

	for (size_t i = 0; i < 2; i++)
		if (first[i] != second[i])
			return first[i] < second[i] ? 1 : -1;
	return strcmp(string_pool_get(&profile->names, x->name),
		string_pool_get(&profile->names, y->name));
}

static int compare_rows(const void *a, const void *b, void *context)
{
	const struct listing *listing = context;

	return compare(a, b, listing->profile, listing->order->by_total);
}

static int compare_pending(const void *a, const void *b, void *context)
{
	return compare_rows(b, a, context);
}

static int append(struct listing *listing, const struct top_row *row)
{
	struct top_rows *rows = listing->rows;
	int r = ARRAY_RESERVE(rows->items, &rows->capacity, rows->count + 1, UINT32_MAX);

	if (r == 0)
		rows->items[rows->count++] = *row;
	return r;
}

static int list_functions(struct listing *listing)
{
	const struct top_profile *profile = listing->profile;
	int r = 0;

	for (uint32_t i = 0; i < profile->function_count && r == 0; i++) {
		const struct top_function *function = &profile->functions[i];
		const char *text = string_pool_get(&profile->names, function->name);
		const char *binary = string_pool_get(&profile->names, function->binary);

		if (function->total == 0 || !matches_function(listing, function))
			continue;
		r = append(listing, &(struct top_row){
					    .total = function->total,
					    .self = function->self,
					    .key = hash_pair(hash_bytes(text, strlen(text)),
						    hash_bytes(binary, strlen(binary))),
					    .name = function->name,
					    .node = TOP_PROFILE_NONE,
					    .function = i,
				    });
	}
	return r;
}

static struct top_row row_of(const struct listing *listing, uint32_t node)
{
	const struct top_node *it = &listing->profile->nodes[node];
	bool is_open = top_open_has(listing->order->open, it->path) ||
		       (listing->marks && (listing->marks[node] & MARK_HAS_MATCHES));

	return (struct top_row){
		.total = it->total,
		.self = it->self,
		.key = it->path,
		.name = it->name,
		.node = node,
		.depth = it->depth - 1,
		.has_callees = it->first_callee != TOP_PROFILE_NONE,
		.is_open = is_open && it->first_callee != TOP_PROFILE_NONE,
	};
}

static int list_processes(struct listing *listing)
{
	const struct top_node *nodes = listing->profile->nodes;
	int r = 0;

	for (uint32_t node = nodes[TOP_PROFILE_ROOT].first_callee;
		node != TOP_PROFILE_NONE && r == 0; node = nodes[node].next_callee) {
		struct top_row row = row_of(listing, node);

		row.is_open = row.has_callees = false;
		if (matches(listing, nodes[node].name))
			r = append(listing, &row);
	}
	return r;
}

/*
 * Marks the nodes that match the filter, their callers and their callees. One pass in each
 * direction is enough, since callees have higher numbers than their callers.
 */
static int mark(struct listing *listing)
{
	const struct top_profile *profile = listing->profile;
	uint8_t *marks;

	if (!*listing->order->filter)
		return 0;
	marks = listing->marks = calloc(profile->node_count, 1);
	if (!marks)
		return -ENOMEM;
	for (size_t node = profile->node_count; --node > 0;) {
		uint32_t caller = profile->nodes[node].caller;

		if (matches(listing, profile->nodes[node].name))
			marks[node] |= MARK_SHOWN | MARK_MATCHES;
		if (marks[node] & (MARK_MATCHES | MARK_HAS_MATCHES))
			marks[caller] |= MARK_SHOWN | MARK_HAS_MATCHES;
	}
	for (size_t node = 1; node < profile->node_count; node++)
		if (marks[profile->nodes[node].caller] & MARK_MATCHES)
			marks[node] |= MARK_SHOWN | MARK_MATCHES;
	return 0;
}

/* Pushes the callees of a node, so that the first one comes off the stack first. */
static int add_pending(struct listing *listing, uint32_t caller)
{
	const struct top_node *nodes = listing->profile->nodes;
	size_t first = listing->pending_count;

	for (uint32_t node = nodes[caller].first_callee; node != TOP_PROFILE_NONE;
		node = nodes[node].next_callee) {
		int r;

		if (listing->marks && !(listing->marks[node] & MARK_SHOWN))
			continue;
		r = ARRAY_RESERVE(listing->pending, &listing->pending_capacity,
			listing->pending_count + 1, TOP_PROFILE_NODES_MAX);
		if (r < 0)
			return r;
		listing->pending[listing->pending_count++] = row_of(listing, node);
	}
	if (listing->pending_count > first)
		qsort_r(listing->pending + first, listing->pending_count - first,
			sizeof(*listing->pending), compare_pending, listing);
	return 0;
}

static int list_tree(struct listing *listing)
{
	int r = mark(listing);

	if (r == 0)
		r = add_pending(listing, TOP_PROFILE_ROOT);
	while (r == 0 && listing->pending_count > 0) {
		struct top_row row = listing->pending[--listing->pending_count];

		r = append(listing, &row);
		if (r == 0 && row.is_open)
			r = add_pending(listing, row.node);
	}
	return r;
}

static void listing_done(struct listing *listing)
{
	free(listing->marks);
	free(listing->pending);
}

int top_rows_make(
	struct top_rows *rows, const struct top_profile *profile, const struct top_order *order)
{
	_cleanup_(listing_done) struct listing listing = {
		.profile = profile,
		.order = order,
		.rows = rows,
	};
	int r;

	rows->count = 0;
	if (order->mode == TOP_TREE)
		r = list_tree(&listing);
	else
		r = order->mode == TOP_FUNCTIONS ? list_functions(&listing)
						 : list_processes(&listing);
	if (r < 0) {
		rows->count = 0;
		return -ENOMEM;
	}
	if (order->mode != TOP_TREE && rows->count > 0)
		qsort_r(rows->items, rows->count, sizeof(*rows->items), compare_rows, &listing);
	return 0;
}

void top_rows_done(struct top_rows *rows)
{
	free(rows->items);
	*rows = (struct top_rows){ 0 };
}
