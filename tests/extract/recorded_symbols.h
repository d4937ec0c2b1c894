/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A builder that only records what it is told of symbols, so that a test sees exactly the ranges
 * and the names as the linker has them. Include it in one file of a program: it takes the place of
 * extract/symbol_builder.c.
 */
#pragma once

#include "extract/symbol_builder.h"

#include "base/array.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

enum { RECORDED_MAX = 1 << 24 };

struct recorded_symbol {
	uint64_t start, end;
	const char *name; /* borrowed from `names` */
	bool is_guess;
};

struct symbol_builder {
	uint64_t code_start, code_end;
	struct recorded_symbol *symbols;
	size_t count, capacity;
	char **names; /* owned, by id less 1; equal ones are there as often as they are told */
	size_t name_count, name_capacity;
	uint32_t losses[3];
	uint32_t contents;
	size_t symbols_max; /* 0: any number; beyond it the answer is -ENOSPC */
};

static inline void recorded_symbols_done(struct symbol_builder *builder)
{
	for (size_t i = 0; i < builder->name_count; i++)
		free(builder->names[i]);
	free(builder->names);
	free(builder->symbols);
	*builder = (struct symbol_builder){ 0 };
}

/* NULL: none is there. */
static inline const struct recorded_symbol *recorded_symbols_find(
	const struct symbol_builder *builder, uint64_t vaddr)
{
	size_t first = 0, end = builder->count;

	while (first < end) {
		size_t middle = first + (end - first) / 2;

		if (builder->symbols[middle].end <= vaddr)
			first = middle + 1;
		else
			end = middle;
	}
	if (first == builder->count || builder->symbols[first].start > vaddr)
		return NULL;
	return &builder->symbols[first];
}

bool symbol_builder_has_code(const struct symbol_builder *builder, uint64_t start, uint64_t end)
{
	return start >= builder->code_start && end <= builder->code_end;
}

int symbol_builder_add_name(
	struct symbol_builder *builder, const char *name, size_t length, uint32_t *ret_name)
{
	char *copy;
	int r;

	assert(strlen(name) == length);
	if (length == 0) {
		*ret_name = 0;
		return 0;
	}
	r = ARRAY_RESERVE(
		builder->names, &builder->name_capacity, builder->name_count + 1, RECORDED_MAX);
	if (r < 0)
		return r;
	copy = strdup(name);
	if (!copy)
		return -ENOMEM;
	builder->names[builder->name_count++] = copy;
	*ret_name = (uint32_t)builder->name_count;
	return 0;
}

int symbol_builder_add_symbol(
	struct symbol_builder *builder, uint64_t start, uint64_t end, uint32_t name, bool is_guess)
{
	int r;

	assert(start < end && name > 0 && name <= builder->name_count);
	assert(builder->count == 0 || builder->symbols[builder->count - 1].end <= start);
	if (builder->symbols_max > 0 && builder->count == builder->symbols_max)
		return -ENOSPC;
	r = ARRAY_RESERVE(builder->symbols, &builder->capacity, builder->count + 1, RECORDED_MAX);
	if (r < 0)
		return r;
	builder->symbols[builder->count++] = (struct recorded_symbol){
		.start = start,
		.end = end,
		.name = builder->names[name - 1],
		.is_guess = is_guess,
	};
	return 0;
}

void symbol_builder_count_loss(
	struct symbol_builder *builder, enum symbol_builder_loss loss, int error)
{
	(void)error;
	builder->losses[loss]++;
}

void symbol_builder_add_contents(struct symbol_builder *builder, uint32_t contents)
{
	builder->contents |= contents;
}
