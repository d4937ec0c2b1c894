/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The names of claims, read from the symbol tables when they are asked for, and the choice between
 * several for one place. What is read for choosing is bounded (I8): beyond it the first one stays,
 * so that millions of long names for one place cost no more than a second.
 */
#pragma once

#include "extract/symbol_claims.h"
#include "extract/symbol_table.h"

#include <stdbool.h>
#include <stddef.h>

struct symbol_names {
	const struct symbol_table *tables; /* borrowed; by a claim's `table` */
	size_t compared_bytes;
	bool has_best; /* is the name of `best` in `best_name`? */
	struct symbol_claim best;
	size_t best_length;
	char best_name[SYMBOL_NAME_BYTES];
	char name[SYMBOL_NAME_BYTES];
};

void symbol_names_init(struct symbol_names *names, const struct symbol_table *tables);

/*
 * The name with a NUL, without its version (what follows an @ that is not its beginning), goes to
 * `text`. Errors as symbol_table_read_name().
 */
int symbol_names_read(const struct symbol_names *names, const struct symbol_claim *claim,
	char text[SYMBOL_NAME_BYTES], size_t *ret_length);

/*
 * Is the name of `claim` to be shown rather than that of `best`? Those with fewer leading
 * underscores are, then the shorter, then the alphabet decides. Empty names and such that cannot be
 * read are nobody's preference.
 */
bool symbol_names_prefer(struct symbol_names *names, const struct symbol_claim *claim,
	const struct symbol_claim *best);
