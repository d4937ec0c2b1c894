/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "resolve/late_stacks.h"

#include "base/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_BITS = 24 };

struct late_frame {
	uint64_t address;
	uint32_t binary;
	uint32_t name; /* string; 0: none */
	uint32_t file; /* string; 0: none. Of interpreted frames, as the line is */
	uint32_t line : LINE_BITS;
	uint32_t jit : 2; /* enum resolved_jit */
	uint32_t is_interpreted : 1;
	uint32_t reserved : 5;
};
_Static_assert(sizeof(struct late_frame) == LATE_FRAME_BYTES, "it is compared as bytes");

struct late_stack {
	uint32_t first, count; /* its range in `frames` */
};

/* The key of a lookup. */
struct wanted {
	const struct late_frame *frames;
	size_t count;
};

int late_stacks_init(struct late_stacks *stacks, size_t names_bytes)
{
	*stacks = (struct late_stacks){ 0 };
	return string_pool_init(&stacks->names, names_bytes);
}

void late_stacks_done(struct late_stacks *stacks)
{
	free(stacks->frames);
	free(stacks->stacks);
	hash_index_done(&stacks->index);
	string_pool_done(&stacks->names);
	*stacks = (struct late_stacks){ 0 };
}

static bool is_stack(const void *owner, uint32_t id, const void *key)
{
	const struct late_stacks *stacks = owner;
	const struct late_stack *stack = &stacks->stacks[id];
	const struct wanted *wanted = key;

	if (stack->count != wanted->count)
		return false;
	return stack->count == 0 || memcmp(stacks->frames + stack->first, wanted->frames,
					    stack->count * sizeof(*wanted->frames)) == 0;
}

static int pack(struct late_stacks *stacks, const struct resolved_frame *frames, size_t count,
	struct late_frame *packed)
{
	int r;

	for (size_t i = 0; i < count; i++) {
		packed[i] = (struct late_frame){
			.address = frames[i].address,
			.binary = frames[i].binary,
			.jit = frames[i].jit,
			.is_interpreted = frames[i].is_interpreted,
			.line = frames[i].is_interpreted ? frames[i].line & ((1 << LINE_BITS) - 1)
							 : 0,
		};
		if (frames[i].is_interpreted && frames[i].file) {
			r = string_pool_intern(&stacks->names, frames[i].file,
				strlen(frames[i].file), &packed[i].file);
			if (r < 0)
				return r;
		}
		if (!frames[i].name)
			continue;
		r = string_pool_intern(
			&stacks->names, frames[i].name, strlen(frames[i].name), &packed[i].name);
		if (r < 0)
			return r;
	}
	return 0;
}

int late_stacks_intern(struct late_stacks *stacks, const struct resolved_frame *frames,
	size_t count, uint32_t *ret_stack)
{
	return late_stacks_intern_within(stacks, frames, count, true, ret_stack);
}

int late_stacks_intern_within(struct late_stacks *stacks, const struct resolved_frame *frames,
	size_t count, bool may_add, uint32_t *ret_stack)
{
	struct late_frame packed[RESOLVED_FRAMES_MAX];
	struct wanted wanted = { .frames = packed, .count = count };
	uint64_t hash;
	uint32_t id;
	int r;

	r = pack(stacks, frames, count, packed);
	if (r < 0)
		return r;
	hash = hash_bytes(packed, count * sizeof(*packed));
	id = hash_index_find(&stacks->index, hash, is_stack, stacks, &wanted);
	if (id != HASH_INDEX_NONE) {
		*ret_stack = id;
		return 0;
	}
	if (!may_add)
		return -ENOBUFS;
	r = ARRAY_RESERVE(
		stacks->frames, &stacks->frame_capacity, stacks->frame_count + count, UINT32_MAX);
	if (r == 0)
		r = ARRAY_RESERVE(stacks->stacks, &stacks->stack_capacity, stacks->stack_count + 1,
			HASH_INDEX_NONE - 1);
	if (r == 0)
		r = hash_index_reserve(&stacks->index);
	if (r < 0)
		return r;
	id = (uint32_t)stacks->stack_count++;
	stacks->stacks[id] = (struct late_stack){
		.first = (uint32_t)stacks->frame_count,
		.count = (uint32_t)count,
	};
	/* The first stack may have no frames, and then there is no array. */
	if (count > 0)
		memcpy(stacks->frames + stacks->frame_count, packed, count * sizeof(*packed));
	stacks->frame_count += count;
	hash_index_insert(&stacks->index, hash, id);
	*ret_stack = id;
	return 0;
}

size_t late_stacks_get(const struct late_stacks *stacks, uint32_t stack,
	struct resolved_frame frames[RESOLVED_FRAMES_MAX])
{
	const struct late_stack *found = &stacks->stacks[stack];

	for (uint32_t i = 0; i < found->count; i++) {
		const struct late_frame *packed = &stacks->frames[found->first + i];

		frames[i] = (struct resolved_frame){
			.address = packed->address,
			.binary = packed->binary,
			.jit = (enum resolved_jit)packed->jit,
			.is_interpreted = packed->is_interpreted,
			.line = packed->line,
			.file = packed->file ? string_pool_get(&stacks->names, packed->file) : NULL,
			.name = packed->name ? string_pool_get(&stacks->names, packed->name) : NULL,
		};
	}
	return found->count;
}

size_t late_stacks_count(const struct late_stacks *stacks)
{
	return stacks->stack_count;
}

size_t late_stacks_frame_bytes(const struct late_stacks *stacks, uint32_t stack)
{
	return stacks->stacks[stack].count * sizeof(struct late_frame);
}

size_t late_stacks_bytes(const struct late_stacks *stacks)
{
	return stacks->frame_capacity * sizeof(*stacks->frames) +
	       stacks->stack_capacity * sizeof(*stacks->stacks) + hash_index_bytes(&stacks->index) +
	       string_pool_bytes(&stacks->names);
}
