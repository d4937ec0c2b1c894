/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tables in the arrays, each once for however many files have it: the copies of a binary in
 * containers are files of their own, and would have a table each. Tables are found by the identity
 * of the symbol file that they came in, and compared as a whole, so that none is ever taken for
 * another. They are counted by their users, as none of the files outlives the others for certain.
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
	/* Those who could do without it: the owner's affair. */
	uint32_t idle_users;
	uint32_t next; /* of its chain, or of the free */
};

/* `store` is borrowed, and takes tables from nobody else. Returns 0 or -ENOMEM. */
int shared_tables_new(struct table_store *store, struct shared_tables **ret_tables);
void shared_tables_free(struct shared_tables *tables);
DEFINE_CLEANUP(struct shared_tables, shared_tables_free);

/*
 * The table, with one user more: it is there, or is put there. Returns 0 or the errors of
 * table_store_put(), and then nothing has changed.
 */
int shared_tables_acquire(struct shared_tables *tables, const struct symbol_identity *identity,
	const struct unwind_table *table, uint32_t *ret_number);

/* One user less, to whom the sampler does not go any more. The last one's table is dropped. */
void shared_tables_release(struct shared_tables *tables, uint32_t number);

/* Is there a table of this identity that takes as much? It may still be another. */
bool shared_tables_has(const struct shared_tables *tables, const struct symbol_identity *identity,
	const struct table_extent *extent);

/* Borrowed until the next acquire. Numbers are below shared_tables_positions(); of those that are
 * free, `users` is 0. */
struct shared_table *shared_tables_get(struct shared_tables *tables, uint32_t number);
size_t shared_tables_positions(const struct shared_tables *tables);

/* What it holds of memory. */
size_t shared_tables_bytes(const struct shared_tables *tables);
