/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the symbols of all tables claim to contain, pooled, and then cut into ranges that do not
 * overlap. The claims are sorted and swept once: symbols that all enclose each other, as a hostile
 * file may have them, are no more work than others. All memory is scratch.
 *
 * An address belongs to the function that contains it and begins last; where no function does, to
 * such a label with a size; where no label does either, to the last claim that begins before, if
 * that is a guess, up to where another claim begins or ends. A label never cuts a function in two.
 */
#pragma once

#include "base/scratch.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum symbol_claim_kind {
	SYMBOL_CLAIM_GUESS, /* its size is not known: `end` is as far as it may reach */
	SYMBOL_CLAIM_LABEL,
	SYMBOL_CLAIM_FUNCTION,
	SYMBOL_CLAIM_KINDS,
};

struct symbol_claim {
	uint64_t start;
	uint64_t end;  /* exclusive, after start */
	uint32_t name; /* this and the following as the owner understands them */
	uint8_t table;
	uint8_t flags;
	uint8_t rank; /* the higher is preferred of equal start and kind */
	uint8_t kind;
};

/* Of two claims of one start, kind and rank, is `a` to be shown rather than `b`? A strict order. */
typedef bool (*symbol_claims_prefer)(
	void *context, const struct symbol_claim *a, const struct symbol_claim *b);

/* A range of what `claim` has; the next ranges see what is written to its name and flags. */
typedef int (*symbol_claims_visit)(
	void *context, struct symbol_claim *claim, uint64_t start, uint64_t end);

enum { SYMBOL_CLAIMS_MAX = 64 * 1024 * 1024 };

struct symbol_claims {
	struct scratch_array claims;
};

/* Returns 0 or -ENOMEM. */
int symbol_claims_init(struct symbol_claims *claims, struct scratch *scratch);
void symbol_claims_done(struct symbol_claims *claims);

/* Returns 0; -E2BIG more than SYMBOL_CLAIMS_MAX; the scratch's errors. */
int symbol_claims_add(struct symbol_claims *claims, const struct symbol_claim *claim);

size_t symbol_claims_count(const struct symbol_claims *claims);

/* Forgets all but the first `count`. */
void symbol_claims_truncate(struct symbol_claims *claims, size_t count);

/*
 * After the last claim, once: calls `visit` for each range, ascending, until it returns an error,
 * which is returned; or the scratch's errors. Neighbouring ranges of one claim are one.
 */
int symbol_claims_each(struct symbol_claims *claims, symbol_claims_prefer prefer,
	symbol_claims_visit visit, void *context);
