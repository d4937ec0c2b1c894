/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/day_tables.h"

#include "base/array.h"

#include <errno.h>
#include <stdlib.h>

int day_tables_init(struct day_tables *tables)
{
	struct profile_node root = { .parent = PROFILE_ROOT, .location = UINT32_MAX };
	int r;

	*tables = (struct day_tables){ 0 };
	r = string_pool_init(&tables->strings, DAY_STRING_BYTES_MAX);
	if (r == 0)
		r = day_tables_add_node(tables, &root);
	if (r < 0)
		day_tables_done(tables);
	return r;
}

void day_tables_done(struct day_tables *tables)
{
	string_pool_done(&tables->strings);
	free(tables->binaries.items);
	free(tables->frames.items);
	free(tables->locations.items);
	free(tables->nodes.items);
	free(tables->threads.items);
	*tables = (struct day_tables){ 0 };
}

struct day_mark day_tables_mark(const struct day_tables *tables)
{
	return (struct day_mark){
		.strings = tables->strings.count,
		.binaries = (uint32_t)tables->binaries.count,
		.frames = (uint32_t)tables->frames.count,
		.locations = (uint32_t)tables->locations.count,
		.nodes = (uint32_t)tables->nodes.count,
		.threads = (uint32_t)tables->threads.count,
	};
}

#define TABLE_BYTES(table) ((table)->capacity * sizeof(*(table)->items))

size_t day_tables_bytes(const struct day_tables *tables)
{
	return string_pool_bytes(&tables->strings) + TABLE_BYTES(&tables->binaries) +
	       TABLE_BYTES(&tables->frames) + TABLE_BYTES(&tables->locations) +
	       TABLE_BYTES(&tables->nodes) + TABLE_BYTES(&tables->threads);
}

#define APPEND(table, item, limit)                                                        \
	({                                                                                \
		int r_ = ARRAY_RESERVE(                                                   \
			(table)->items, &(table)->capacity, (table)->count + 1, (limit)); \
		if (r_ == 0)                                                              \
			(table)->items[(table)->count++] = (item);                        \
		r_;                                                                       \
	})

int day_tables_add_binary(struct day_tables *tables, const struct profile_binary *binary)
{
	return APPEND(&tables->binaries, *binary, DAY_BINARIES_MAX);
}

int day_tables_add_location(struct day_tables *tables, const struct day_location *location,
	const struct profile_frame *frames)
{
	size_t first = tables->frames.count;
	struct day_location added = *location;
	int r = 0;

	added.first_frame = (uint32_t)first;
	for (uint32_t i = 0; r == 0 && i < location->frame_count; i++)
		r = APPEND(&tables->frames, frames[i], DAY_FRAMES_MAX);
	if (r == 0)
		r = APPEND(&tables->locations, added, DAY_LOCATIONS_MAX);
	if (r < 0)
		tables->frames.count = first;
	return r;
}

int day_tables_add_node(struct day_tables *tables, const struct profile_node *node)
{
	return APPEND(&tables->nodes, *node, DAY_NODES_MAX);
}

int day_tables_add_thread(struct day_tables *tables, const struct profile_thread *thread)
{
	return APPEND(&tables->threads, *thread, DAY_THREADS_MAX);
}
