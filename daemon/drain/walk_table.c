/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "drain/walk_table.h"

#include "base/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * On average. The limit is that of the sampler's counts: four for each sample of a window. So there
 * is room for all samples even if each has a stack of its own of the greatest depth.
 */
enum { FRAMES_PER_STACK = (PILOTLIGHT_WALK_DEPTH + 1) / 4 };

void walk_table_init(struct walk_table *table, size_t limit)
{
	*table = (struct walk_table){ .limit = limit };
}

void walk_table_done(struct walk_table *table)
{
	hash_index_done(&table->index);
	free(table->stacks);
	free(table->frames);
	free(table->runtime_frames);
	*table = (struct walk_table){ 0 };
}

void walk_table_clear(struct walk_table *table)
{
	hash_index_clear(&table->index);
	table->count = table->frame_count = table->runtime_frame_count = 0;
}

static bool has_hash(const void *owner, uint32_t id, const void *key)
{
	const struct walk_table *table = owner;
	const uint64_t *hash = key;

	return table->stacks[id].hash == *hash;
}

const struct walked_stack *walk_table_find(const struct walk_table *table, uint64_t hash)
{
	/* Mix BPF's hash again: the index needs entropy in all bits. */
	uint32_t id = hash_index_find(&table->index, hash_pair(hash, 0), has_hash, table, &hash);

	return id == HASH_INDEX_NONE ? NULL : &table->stacks[id];
}

int walk_table_add(struct walk_table *table, const struct raw_sample *sample)
{
	size_t frame_limit = table->limit * FRAMES_PER_STACK, count = sample->walk_count;
	size_t runtime_count = sample->runtime_count;
	uint64_t hash = sample->walk_hash;
	int r;

	if (walk_table_find(table, hash))
		return 0;
	r = ARRAY_RESERVE(table->stacks, &table->capacity, table->count + 1, table->limit);
	if (r == 0)
		r = ARRAY_RESERVE(table->frames, &table->frame_capacity, table->frame_count + count,
			frame_limit);
	if (r == 0)
		r = ARRAY_RESERVE(table->runtime_frames, &table->runtime_frame_capacity,
			table->runtime_frame_count + runtime_count, frame_limit);
	if (r == 0)
		r = hash_index_reserve(&table->index);
	if (r < 0)
		return r;
	if (count > 0)
		memcpy(table->frames + table->frame_count, sample->walk_frames,
			count * sizeof(uint64_t));
	if (runtime_count > 0)
		memcpy(table->runtime_frames + table->runtime_frame_count, sample->runtime_frames,
			runtime_count * sizeof(*table->runtime_frames));
	table->stacks[table->count] = (struct walked_stack){
		.hash = hash,
		.first_frame = table->frame_count,
		.count = (uint16_t)count,
		.end = (uint8_t)sample->walk_end,
		.first_runtime_frame = table->runtime_frame_count,
		.runtime_count = (uint16_t)runtime_count,
		.runtime_end = (uint8_t)sample->runtime_end,
		.runtime_language = (uint8_t)sample->runtime_language,
		.runtime_file = sample->runtime_file,
	};
	hash_index_insert(&table->index, hash_pair(hash, 0), (uint32_t)table->count);
	table->frame_count += count;
	table->runtime_frame_count += runtime_count;
	table->count++;
	return 0;
}
