/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Live pointers with what was allocated there. Unlike hash_index, it removes elements one by one:
 * most allocations are freed soon. Open addressing with linear probing; a removal moves later
 * elements of its run back, so no markers of removed elements pile up.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct live_pointer {
	uint64_t pointer; /* 0: an empty slot */
	uint64_t bytes;
	uint32_t site;
	uint32_t reserved;
};

struct pointer_table {
	struct live_pointer *slots;
	size_t capacity; /* 0 or a power of two */
	size_t count;
};

void pointer_table_done(struct pointer_table *table);

/* Makes room for one more, up to `limit` elements. Returns 0, -E2BIG or -ENOMEM. */
int pointer_table_reserve(struct pointer_table *table, size_t limit);

/* Adds a pointer that the table lacks and that is not 0, after pointer_table_reserve(). */
void pointer_table_add(struct pointer_table *table, const struct live_pointer *element);

/* Returns the element or NULL; borrowed until the table changes. */
const struct live_pointer *pointer_table_find(const struct pointer_table *table, uint64_t pointer);

/* Removes an element that pointer_table_find() returned. */
void pointer_table_remove(struct pointer_table *table, const struct live_pointer *element);
