/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pools the claims of all symbol tables to code, and cuts them into ranges that do not overlap.
 * Claims are sorted and swept once, so hostile symbols that all enclose each other cost no more
 * than others (I8). All memory is scratch.
 *
 * An address belongs to the last function to begin that contains it; else to the last such label
 * with a size; else to the last claim before it if that is a guess, up to where another claim
 * begins or ends. A label never divides a function.
 */
#pragma once

#include "base/scratch.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum symbol_claim_kind {
	SYMBOL_CLAIM_GUESS, /* of unknown size: `end` is the farthest possible end */
	SYMBOL_CLAIM_LABEL,
	SYMBOL_CLAIM_FUNCTION,
	SYMBOL_CLAIM_KINDS,
};

struct symbol_claim {
	uint64_t start;
	uint64_t end;  /* exclusive, after start */
	uint32_t name; /* `name`, `table` and `flags` belong to the owner */
	uint8_t table;
	uint8_t flags;
	uint8_t rank; /* of equal start and kind, the higher one is preferred */
	uint8_t kind;
};

/* Is `a` better than `b`, a claim of the same start, kind and rank? A strict order. */
typedef bool (*symbol_claims_prefer)(
	void *context, const struct symbol_claim *a, const struct symbol_claim *b);

/* Receives a range of `claim`. Changes to its name and flags are visible in later ranges. */
typedef int (*symbol_claims_visit)(
	void *context, struct symbol_claim *claim, uint64_t start, uint64_t end);

/*
 * Sorts `claims`, an array of struct symbol_claim. Calls `visit` for each range, ascending, until
 * it returns an error; returns that error or the scratch's errors. Adjacent ranges of one claim are
 * joined.
 */
int symbol_claims_each(struct scratch_array *claims, symbol_claims_prefer prefer,
	symbol_claims_visit visit, void *context);
