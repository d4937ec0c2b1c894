/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A function's inlined calls in GSYM's form: a tree of calls, each with all its ranges of code. A
 * symbol file has it the other way round, the innermost call of each stretch of code; so a sweep
 * over the stretches opens and closes calls, and the ranges that come of it are sorted by call.
 *
 * A caller's id is smaller than its callees', which makes sorted calls a tree in preorder enough:
 * the callers come first. Kept from one function to the next for its memory; bounded by the file.
 */
#pragma once

#include "export/gsym_bytes.h"
#include "export/gsym_tables.h"

enum { GSYM_RUN_BYTES_MAX = 48 }; /* of a run, and of the call that it may be the only one of */

/* A range in which a call goes on without a break. */
struct gsym_run {
	uint32_t frame;
	uint32_t start, end;
};

struct gsym_call {
	uint32_t frame;
	uint32_t first_run, run_count;
	uint32_t child, sibling; /* in `calls`, in order of their frames; 0: no more */
};

struct gsym_inlines {
	const struct gsym_tables *tables; /* borrowed */
	struct gsym_run *runs;		  /* owned, as the next */
	struct gsym_call *calls;
	size_t run_count, run_capacity;
	size_t call_count, call_capacity;
	uint32_t open_frames[GSYM_DEPTH_MAX]; /* the calls at the sweep's place, outermost first */
	uint32_t open_runs[GSYM_DEPTH_MAX];
	size_t open_count;
};

void gsym_inlines_init(struct gsym_inlines *inlines, const struct gsym_tables *tables);
void gsym_inlines_done(struct gsym_inlines *inlines);

/* The most runs that a function may have. */
size_t gsym_inlines_runs_max(const struct gsym_tables *tables);

/* Finds a function's calls. Returns 0; -ENOMEM; -EFBIG more than the most runs. */
int gsym_inlines_find(struct gsym_inlines *inlines, const struct gsym_range *range);

/* Of the function that was found last: is anything inlined into it? */
bool gsym_inlines_has_calls(const struct gsym_inlines *inlines);
void gsym_inlines_encode(const struct gsym_inlines *inlines, struct gsym_bytes *bytes);
