/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kmemtrace/pointer_table.h"

#include "base/hash_index.h"

#include <errno.h>
#include <stdlib.h>

enum { CAPACITY_MIN = 1024 };

void pointer_table_done(struct pointer_table *table)
{
	free(table->slots);
	*table = (struct pointer_table){ 0 };
}

static size_t home_of(const struct pointer_table *table, uint64_t pointer)
{
	return hash_pair(pointer, 0) & (table->capacity - 1);
}

static size_t behind(const struct pointer_table *table, size_t slot)
{
	return (slot + 1) & (table->capacity - 1);
}

void pointer_table_add(struct pointer_table *table, const struct live_pointer *element)
{
	size_t slot = home_of(table, element->pointer);

	while (table->slots[slot].pointer)
		slot = behind(table, slot);
	table->slots[slot] = *element;
	table->count++;
}

int pointer_table_reserve(struct pointer_table *table, size_t limit)
{
	struct pointer_table grown = { .capacity = table->capacity ? table->capacity * 2
								   : CAPACITY_MIN };

	if (table->count >= limit)
		return -E2BIG;
	if (table->count < table->capacity / 4 * 3)
		return 0;
	grown.slots = calloc(grown.capacity, sizeof(*grown.slots));
	if (!grown.slots)
		return -ENOMEM;
	for (size_t i = 0; i < table->capacity; i++)
		if (table->slots[i].pointer)
			pointer_table_add(&grown, &table->slots[i]);
	pointer_table_done(table);
	*table = grown;
	return 0;
}

const struct live_pointer *pointer_table_find(const struct pointer_table *table, uint64_t pointer)
{
	size_t slot;

	if (table->capacity == 0 || pointer == 0)
		return NULL;
	for (slot = home_of(table, pointer); table->slots[slot].pointer; slot = behind(table, slot))
		if (table->slots[slot].pointer == pointer)
			return &table->slots[slot];
	return NULL;
}

/* Knuth, The Art of Computer Programming, vol. 3, 6.4, algorithm R. */
void pointer_table_remove(struct pointer_table *table, const struct live_pointer *element)
{
	size_t mask = table->capacity - 1, hole = (size_t)(element - table->slots);
	size_t slot = behind(table, hole);

	for (; table->slots[slot].pointer; slot = behind(table, slot)) {
		size_t home = home_of(table, table->slots[slot].pointer);

		/* An element between its home and its slot stays where the hole is before its home.
		 */
		if (((slot - home) & mask) < ((slot - hole) & mask))
			continue;
		table->slots[hole] = table->slots[slot];
		hole = slot;
	}
	table->slots[hole] = (struct live_pointer){ 0 };
	table->count--;
}
