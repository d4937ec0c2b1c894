/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unwind/shared_tables.h"

#include "base/array.h"
#include "base/hash_index.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	NONE = SHARED_TABLE_NONE,
	BUCKETS = 4096,
	TABLES_MAX = 4 * PILOTLIGHT_WALK_FILES_MAX, /* the store's bound is lower */
};

struct shared_tables {
	struct table_store *store;
	struct shared_table *items;
	size_t count, capacity;
	uint32_t free;
	uint32_t chains[BUCKETS]; /* by identity */
};

void shared_tables_free(struct shared_tables *tables)
{
	if (!tables)
		return;
	free(tables->items);
	free(tables);
}

int shared_tables_new(struct table_store *store, struct shared_tables **ret_tables)
{
	struct shared_tables *tables = calloc(1, sizeof(*tables));

	if (!tables)
		return -ENOMEM;
	tables->store = store;
	tables->free = NONE;
	memset(tables->chains, 0xff, sizeof(tables->chains));
	*ret_tables = tables;
	return 0;
}

/* Hashes the padding, too: identities of two sizes may be equal. */
static uint32_t bucket_of(const struct symbol_identity *identity)
{
	return hash_bytes(identity->id.bytes, sizeof(identity->id.bytes)) & (BUCKETS - 1);
}

/* The next table of an identity in its chain, from `number` on. */
static uint32_t find_from(
	const struct shared_tables *tables, uint32_t number, const struct symbol_identity *identity)
{
	while (number != NONE && !symbol_identity_equal(&tables->items[number].identity, identity))
		number = tables->items[number].next;
	return number;
}

static int reserve(struct shared_tables *tables)
{
	int r;

	if (tables->free != NONE)
		return 0;
	r = ARRAY_RESERVE(tables->items, &tables->capacity, tables->count + 1, TABLES_MAX);
	if (r < 0)
		return r == -E2BIG ? -ENOSPC : r;
	tables->items[tables->count] = (struct shared_table){ .next = NONE };
	tables->free = (uint32_t)tables->count++;
	return 0;
}

static int add(struct shared_tables *tables, const struct symbol_identity *identity,
	const struct unwind_table *table, uint32_t *ret_number)
{
	uint32_t *chain = &tables->chains[bucket_of(identity)];
	struct pilotlight_walk_file place = { 0 };
	uint32_t number;
	int r;

	r = reserve(tables);
	if (r == 0)
		r = table_store_put(tables->store, table, &place);
	if (r < 0)
		return r;
	number = tables->free;
	tables->free = tables->items[number].next;
	tables->items[number] = (struct shared_table){
		.identity = *identity,
		.place = place,
		.extent = table_store_extent(table),
		.users = 1,
		.next = *chain,
	};
	*chain = number;
	*ret_number = number;
	return 0;
}

int shared_tables_acquire(struct shared_tables *tables, const struct symbol_identity *identity,
	const struct unwind_table *table, uint32_t *ret_number)
{
	uint32_t number = find_from(tables, tables->chains[bucket_of(identity)], identity);

	while (number != NONE &&
		!table_store_holds(tables->store, table, &tables->items[number].place))
		number = find_from(tables, tables->items[number].next, identity);
	if (number == NONE)
		return add(tables, identity, table, ret_number);
	tables->items[number].users++;
	*ret_number = number;
	return 0;
}

void shared_tables_release(struct shared_tables *tables, uint32_t number)
{
	struct shared_table *table = shared_tables_get(tables, number);
	uint32_t *place = &tables->chains[bucket_of(&table->identity)];

	assert(table->users > 0);
	if (--table->users > 0)
		return;
	table_store_drop(tables->store, &table->place);
	while (*place != number)
		place = &tables->items[*place].next;
	*place = table->next;
	*table = (struct shared_table){ .next = tables->free };
	tables->free = number;
}

bool shared_tables_has(const struct shared_tables *tables, const struct symbol_identity *identity,
	const struct table_extent *extent)
{
	uint32_t number = find_from(tables, tables->chains[bucket_of(identity)], identity);

	while (number != NONE &&
		memcmp(&tables->items[number].extent, extent, sizeof(*extent)) != 0)
		number = find_from(tables, tables->items[number].next, identity);
	return number != NONE;
}

struct shared_table *shared_tables_get(struct shared_tables *tables, uint32_t number)
{
	assert(number < tables->count);
	return &tables->items[number];
}

size_t shared_tables_positions(const struct shared_tables *tables)
{
	return tables->count;
}
