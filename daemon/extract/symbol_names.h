/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads the names of claims from their symbol tables on demand, and chooses between several names
 * for one place. The reads for choosing are bounded (I8): beyond the bound the first name stays.
 * So millions of long names for one place cost at most a second.
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
 * Reads the name into `text`, with a NUL and without its version: the part from the first @ on,
 * unless the name begins with it. Errors as symbol_table_read_name().
 */
int symbol_names_read(const struct symbol_names *names, const struct symbol_claim *claim,
	char text[SYMBOL_NAME_BYTES], size_t *ret_length);

/*
 * Is the name of `claim` better than that of `best`? Fewer leading underscores are better, then a
 * shorter name, then alphabetical order. A name that is empty or unreadable is never better.
 */
bool symbol_names_prefer(struct symbol_names *names, const struct symbol_claim *claim,
	const struct symbol_claim *best);
