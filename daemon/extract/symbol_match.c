/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/symbol_match.h"

#include <errno.h>
#include <stdlib.h>

int symbol_match_init(struct symbol_match *match, const struct symbol_request *requests,
	size_t request_count, symbol_match_prefer prefer, void *context)
{
	*match = (struct symbol_match){
		.requests = requests,
		.request_count = request_count,
		.prefer = prefer,
		.context = context,
	};
	if (request_count > SIZE_MAX / 2)
		return -ENOMEM;
	match->covering = calloc(request_count ? 2 * request_count : 1, sizeof(*match->covering));
	match->nearest = calloc(request_count ? request_count : 1, sizeof(*match->nearest));
	match->ends = calloc(request_count ? request_count : 1, sizeof(*match->ends));
	if (!match->covering || !match->nearest || !match->ends) {
		symbol_match_done(match);
		return -ENOMEM;
	}
	return 0;
}

void symbol_match_done(struct symbol_match *match)
{
	free(match->covering);
	free(match->nearest);
	free(match->ends);
	match->covering = NULL;
	match->nearest = NULL;
	match->ends = NULL;
}

/*
 * The first request at or after `vaddr`; request_count if there is none. Each symbol asks, and in
 * no order that a processor could predict: so the halves are chosen without a branch.
 */
static size_t find_request(const struct symbol_match *match, uint64_t vaddr)
{
	const struct symbol_request *first = match->requests;
	size_t count = match->request_count;

	if (count == 0)
		return 0;
	while (count > 1) {
		size_t half = count / 2;

		first += (first[half - 1].vaddr < vaddr) * half;
		count -= half;
	}
	return (size_t)(first - match->requests) + (first->vaddr < vaddr);
}

/* Rank 0 is a place that nobody has claimed yet. */
static void improve(const struct symbol_match *match, struct symbol_candidate *best,
	const struct symbol_candidate *candidate)
{
	bool is_better;

	if (best->rank == 0)
		is_better = candidate->rank > 0;
	else if (candidate->rank == 0)
		is_better = false;
	else if (candidate->start != best->start)
		is_better = candidate->start > best->start;
	/* Where one of them knows its size, the other is not taken to be longer. */
	else if (candidate->is_guess != best->is_guess)
		is_better = best->is_guess;
	else if (candidate->rank != best->rank)
		is_better = candidate->rank > best->rank;
	else if (candidate->name == best->name)
		is_better = false;
	else
		is_better = match->prefer(match->context, candidate->name, best->name);
	if (is_better)
		*best = *candidate;
}

void symbol_match_add(struct symbol_match *match, const struct symbol_candidate *candidate)
{
	size_t first, end;

	first = find_request(match, candidate->start);
	if (first == match->request_count)
		return;
	improve(match, &match->nearest[first], candidate);
	if (candidate->is_guess)
		return;

	end = first;
	if (match->requests[first].vaddr < candidate->end)
		end = find_request(match, candidate->end);
	if (end < match->request_count && match->ends[end] < candidate->end)
		match->ends[end] = candidate->end;

	first += match->request_count;
	for (end += match->request_count; first < end; first /= 2, end /= 2) {
		if (first % 2)
			improve(match, &match->covering[first++], candidate);
		if (end % 2)
			improve(match, &match->covering[--end], candidate);
	}
}

int symbol_match_each(const struct symbol_match *match,
	int (*found)(void *context, size_t request, uint32_t name), void *context)
{
	struct symbol_candidate last = { 0 };
	uint64_t last_end = 0;
	int r;

	for (size_t i = 0; i < match->request_count; i++) {
		struct symbol_candidate best = { 0 };

		improve(match, &last, &match->nearest[i]);
		if (last_end < match->ends[i])
			last_end = match->ends[i];
		for (size_t node = i + match->request_count; node > 0; node /= 2)
			improve(match, &best, &match->covering[node]);
		if (best.rank == 0 && last.is_guess && last_end <= last.start &&
			match->requests[i].vaddr < last.end)
			best = last;
		if (best.rank == 0)
			continue;
		r = found(context, i, best.name);
		if (r < 0)
			return r;
	}
	return 0;
}
