/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tables in the arrays, each stored once for all files that have it: copies of a binary in
 * containers are different files and would each take room. A table is found by the identity of its
 * symbol file, and compared as a whole, so it is never mistaken for another. It is
 * reference-counted by files, because any of them may leave first.
 *
 * One owner, one thread. Bounded by the store (I4).
 */
#pragma once

#include "base/cleanup.h"
#include "pilotlight/walk.h"
#include "symbol/symbol_identity.h"
#include "unwind/table_store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct shared_tables;
struct unwind_table;

enum { SHARED_TABLE_NONE = UINT32_MAX };

struct shared_table {
	struct symbol_identity identity;
	struct pilotlight_walk_file place; /* as table_store_put() has set it */
	struct table_extent extent;
	uint32_t users; /* 0: the entry is free */
	bool is_in_use; /* for the owner, as is `user`: who answers for it */
	uint64_t user;
	uint32_t next; /* in its hash chain, or in the free list */
};

/* `store` is borrowed, and must not be used for other tables. Returns 0 or -ENOMEM. */
int shared_tables_new(struct table_store *store, struct shared_tables **ret_tables);
void shared_tables_free(struct shared_tables *tables);
DEFINE_CLEANUP(struct shared_tables, shared_tables_free);

/*
 * Adds a user to the table, which is stored if it is new. Returns 0, or an error of
 * table_store_put(): nothing has changed.
 */
int shared_tables_acquire(struct shared_tables *tables, const struct symbol_identity *identity,
	const struct unwind_table *table, uint32_t *ret_number);

/* Removes a user; no entry of the sampler may refer to the table on its behalf. The last one drops
 * the table. */
void shared_tables_release(struct shared_tables *tables, uint32_t number);

/* Is there a table of this identity and size? It may still be a different one. */
bool shared_tables_has(const struct shared_tables *tables, const struct symbol_identity *identity,
	const struct table_extent *extent);

/* Borrowed until the next acquire. Numbers are below shared_tables_positions(); `users` is 0 if a
 * number is free. */
struct shared_table *shared_tables_get(struct shared_tables *tables, uint32_t number);
size_t shared_tables_positions(const struct shared_tables *tables);
