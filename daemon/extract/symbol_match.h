/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which symbol each address belongs to, told one symbol at a time in any order. The addresses are
 * the leaves of a tree whose inner nodes stand for runs of neighbours, so a symbol costs O(log n)
 * however many addresses it covers: symbols that all enclose each other, as a hostile file may
 * have them, are no more work than others. Memory is bounded by the number of addresses.
 */
#pragma once

#include "symbol/symbol_source.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* `start` and `end` are link-time vaddrs. A higher rank is preferred among symbols of one start. */
struct symbol_candidate {
	uint64_t start;
	uint64_t end;  /* exclusive, after start */
	uint32_t name; /* whatever `prefer` understands */
	uint16_t rank; /* at least 1 */
	bool is_guess; /* its size is not known: `end` is as far as it may reach */
};

/* Of two names for one place, is `a` to be shown rather than `b`? A strict order. */
typedef bool (*symbol_match_prefer)(void *context, uint32_t a, uint32_t b);

struct symbol_match {
	const struct symbol_request *requests; /* borrowed */
	size_t request_count;
	struct symbol_candidate
		*covering;		  /* the tree: twice request_count, the leaves in its end */
	struct symbol_candidate *nearest; /* by request: the last to start since the one before */
	uint64_t *ends;			  /* by request: the last known end since the one before */
	symbol_match_prefer prefer;
	void *context;
};

/* The requests are sorted by vaddr, without duplicates. Returns 0 or -ENOMEM. */
int symbol_match_init(struct symbol_match *match, const struct symbol_request *requests,
	size_t request_count, symbol_match_prefer prefer, void *context);
void symbol_match_done(struct symbol_match *match);

void symbol_match_add(struct symbol_match *match, const struct symbol_candidate *candidate);

/*
 * After the last symbol: calls `found` for each request that a symbol contains, in order of vaddr,
 * until it returns an error, which is returned. Of several symbols the one with the greatest start
 * is taken, then the one with the highest rank, then the preferred name. A guess counts where no
 * other symbol contains the address, and only up to where another symbol begins or is known to end.
 */
int symbol_match_each(const struct symbol_match *match,
	int (*found)(void *context, size_t request, uint32_t name), void *context);
