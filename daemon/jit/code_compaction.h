/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Makes a new store with the facts that are still needed. Code from before the horizon is needed
 * where it is the newest of its writer; the writers stay apart, since a fork does not see all of
 * them. Moved code stays until something takes its old place: it hides what is below.
 */
#pragma once

#include "base/cleanup.h"
#include "jit/code_store.h"

/* What was given up, each level with those before it. */
enum code_level {
	CODE_LEVEL_RETIRED, /* code that was replaced before the horizon */
	CODE_LEVEL_HISTORY, /* all code that was replaced */
	CODE_LEVEL_LINES,   /* source lines */
	CODE_LEVEL_OLDEST,  /* the older half of the code, once or more often */
};

struct code_plan {
	const struct code_store *store;
	enum code_level level;
	uint32_t *kept;		    /* owned: for each entry 0, or 1 */
	uint32_t *ids;		    /* owned: scratch */
	size_t entries, text_bytes; /* of what is kept */
	size_t code;		    /* entries that are no ends */
	bool drops_lines;
	uint64_t history_ns;
	uint64_t history_dropped, lines_dropped, code_dropped;
};

/* Gives up what is not needed. Returns 0 or -ENOMEM. */
int code_plan_new(const struct code_store *store, uint64_t horizon_ns, struct code_plan *ret_plan);
/* Gives up more: goes to the next level, or drops half again. Returns 0 or -ENOMEM. */
int code_plan_drop_more(struct code_plan *plan);
void code_plan_done(struct code_plan *plan);

/* Builds the new store, once for each plan. Returns 0 or -ENOMEM. */
int code_plan_build(struct code_plan *plan, struct code_store *ret_store);
