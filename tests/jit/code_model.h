/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a code index should answer, told simply: a list of facts as they came, and for each question
 * one way through all of them. Knows nothing of bounds but that on late facts.
 */
#pragma once

#include "jit/code_index.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { MODEL_FACTS_MAX = 4096, MODEL_LATE_MAX = 32, MODEL_LINES_MAX = 4, MODEL_NAME_BYTES = 24 };

struct model_fact {
	uint64_t address, size, time_ns;
	uint32_t writer;
	bool is_end;	    /* nothing is there any more */
	uint32_t only_over; /* of such a one: the fact that it ends */
	char name[MODEL_NAME_BYTES];
	struct line_entry lines[MODEL_LINES_MAX];
	size_t line_count;
};

struct model {
	struct model_fact facts[MODEL_FACTS_MAX];
	uint32_t count;
};

static inline bool model_covers(const struct model_fact *fact, uint64_t address)
{
	return address >= fact->address && address - fact->address < fact->size;
}

/* All that was at an address, newest first. `ret_late`: has some of it come too late? */
static inline size_t model_history(const struct model *model, uint64_t address,
	uint32_t history[MODEL_FACTS_MAX], bool *ret_late)
{
	size_t count = 0;

	*ret_late = false;
	for (uint32_t i = 0; i < model->count; i++) {
		const struct model_fact *fact = &model->facts[i], *there = NULL;
		size_t at = 0;

		if (!model_covers(fact, address))
			continue;
		while (at < count && model->facts[history[at]].time_ns > fact->time_ns)
			at++;
		if (at > MODEL_LATE_MAX) {
			*ret_late = true;
			continue;
		}
		if (at < count)
			there = &model->facts[history[at]];
		if (fact->is_end && (!there || history[at] != fact->only_over))
			continue;
		if (there && there->time_ns == fact->time_ns && there->writer == fact->writer) {
			history[at] = i;
			continue;
		}
		memmove(history + at + 1, history + at, (count - at) * sizeof(history[0]));
		history[at] = i;
		count++;
	}
	return count;
}

static inline bool model_sees(const struct model_fact *fact, const struct code_view *view)
{
	return !view || (fact->time_ns >= view->since_ns &&
				(fact->writer >= view->count ||
					fact->time_ns < view->until_ns[fact->writer]));
}

struct model_found {
	uint32_t fact;
	uint64_t until_ns;
	bool is_late; /* some fact of this address came too late */
};

static inline bool model_find(const struct model *model, uint64_t address, uint64_t time_ns,
	const struct code_view *view, struct model_found *ret_found)
{
	static uint32_t history[MODEL_FACTS_MAX];
	size_t count = model_history(model, address, history, &ret_found->is_late);

	ret_found->until_ns = UINT64_MAX;
	for (size_t i = 0; i < count; i++) {
		const struct model_fact *fact = &model->facts[history[i]];

		if (!model_sees(fact, view))
			continue;
		if (fact->time_ns > time_ns) {
			ret_found->until_ns = fact->time_ns;
			continue;
		}
		ret_found->fact = history[i];
		return !fact->is_end;
	}
	return false;
}

static inline struct model_fact *model_load(struct model *model, const struct code_load *load)
{
	struct model_fact *fact = &model->facts[model->count];

	assert(model->count < MODEL_FACTS_MAX && load->name_size < MODEL_NAME_BYTES);
	*fact = (struct model_fact){
		.address = load->address,
		.size = load->size,
		.time_ns = load->time_ns,
		.writer = load->writer,
	};
	memcpy(fact->name, load->name, load->name_size);
	model->count++;
	return fact;
}

/* `moved`: the fact that told of the code. */
static inline void model_move(struct model *model, const struct code_move *move, uint32_t moved)
{
	struct model_fact *fact = &model->facts[model->count];

	assert(model->count + 2 <= MODEL_FACTS_MAX);
	fact[0] = fact[1] = model->facts[moved];
	fact[0].time_ns = fact[1].time_ns = move->time_ns;
	fact[0].writer = fact[1].writer = move->writer;
	fact[0].is_end = true;
	fact[0].only_over = moved;
	fact[1].address = move->to;
	fact[1].size = move->size;
	model->count += 2;
}

/* The line at an address of some code; NULL: none, as beyond what an offset can tell. */
static inline const struct line_entry *model_line(const struct model_fact *fact, uint64_t address)
{
	const struct line_entry *found = NULL;

	if (address - fact->address > UINT32_MAX)
		return NULL;
	for (size_t i = 0; i < fact->line_count; i++)
		if (fact->lines[i].offset <= address - fact->address &&
			(!found || fact->lines[i].offset >= found->offset))
			found = &fact->lines[i];
	return found && found->line > 0 ? found : NULL;
}

static inline bool model_is_same(const struct model_fact *fact, const struct code_found *found)
{
	return fact->address == found->address && fact->size == found->size &&
	       fact->time_ns == found->time_ns && strcmp(fact->name, found->name) == 0;
}

/* Has it been told at all that this was there then? */
static inline bool model_has_told(const struct model *model, uint64_t address, uint64_t time_ns,
	const struct code_found *found)
{
	for (uint32_t i = 0; i < model->count; i++)
		if (model_is_same(&model->facts[i], found) && !model->facts[i].is_end &&
			found->time_ns <= time_ns && model_covers(&model->facts[i], address))
			return true;
	return false;
}
