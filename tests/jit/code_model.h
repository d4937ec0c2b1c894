/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The simplest code index: a list of facts, and for each question one way through all of them. It
 * has no bounds.
 */
#pragma once

#include "jit/code_index.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { MODEL_FACTS_MAX = 4096, MODEL_LINES_MAX = 4, MODEL_NAME_BYTES = 24 };

struct model_fact {
	uint64_t address, size, time_ns;
	uint32_t writer;
	bool is_end;	    /* a move has taken the code away */
	uint32_t only_over; /* of an end: the fact that it ends */
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

static inline bool model_sees(const struct model_fact *fact, const struct code_view *view)
{
	return !view || (fact->time_ns >= view->since_ns &&
				(fact->writer >= view->count ||
					fact->time_ns < view->until_ns[fact->writer]));
}

struct model_found {
	uint32_t fact;
	uint64_t until_ns;
};

/* The newest code that the view sees, unless a visible end of it is not later. */
static inline bool model_find(const struct model *model, uint64_t address, uint64_t time_ns,
	const struct code_view *view, struct model_found *ret_found)
{
	const struct model_fact *best = NULL;

	ret_found->until_ns = UINT64_MAX;
	for (uint32_t i = 0; i < model->count; i++) {
		const struct model_fact *fact = &model->facts[i];

		if (fact->is_end || !model_covers(fact, address) || !model_sees(fact, view))
			continue;
		if (fact->time_ns > time_ns) {
			if (fact->time_ns < ret_found->until_ns)
				ret_found->until_ns = fact->time_ns;
		} else if (!best || fact->time_ns >= best->time_ns) {
			best = fact;
			ret_found->fact = i;
		}
	}
	for (uint32_t i = 0; best && i < model->count; i++) {
		const struct model_fact *fact = &model->facts[i];

		if (!fact->is_end || fact->only_over != ret_found->fact || !model_sees(fact, view))
			continue;
		if (fact->time_ns <= time_ns)
			return false;
		if (fact->time_ns < ret_found->until_ns)
			ret_found->until_ns = fact->time_ns;
	}
	return best;
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

/* `moved`: the fact whose code moves. */
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

/* The line at an address of some code; NULL: none, or its offset does not fit 32 bits. */
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

/* Does any fact say that this code was there then? */
static inline bool model_has_told(const struct model *model, uint64_t address, uint64_t time_ns,
	const struct code_found *found)
{
	for (uint32_t i = 0; i < model->count; i++)
		if (model_is_same(&model->facts[i], found) && !model->facts[i].is_end &&
			found->time_ns <= time_ns && model_covers(&model->facts[i], address))
			return true;
	return false;
}
