/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A program that makes code, says so, and knows what it ran: what the modes of jit_writer share. */
#pragma once

#include "code.h"
#include "truth.h"
#include "writer.h"

#include <stdbool.h>
#include <stdint.h>

struct trial {
	double seconds;
	uint64_t run_ns;    /* of the shortest run of a function */
	unsigned functions; /* how many */
	const char *prefix; /* of their names */
	enum code_style style;
	struct code_memory memory;
	struct writer writer;
	struct truth truth;
	uint64_t random;
	uint64_t end_ns;
};

/* `PREFIXword` or, with a number above 0, `PREFIXword_NUMBER`; never freed. */
const char *trial_name(const struct trial *trial, const char *word, unsigned number);

/* Puts code at a place; nothing is said of it. */
void trial_put(
	const struct trial *trial, unsigned place, const char *name, struct function *function);

/* Says it of a place where there is other code, or none: nobody must see that name. */
void trial_tell_only(struct trial *trial, unsigned place, const char *name);

/* Puts it and says so. */
void trial_load(struct trial *trial, unsigned place, const char *name, struct function *function);

/* Runs it `weight` times as long as the shortest run. */
void trial_run(struct trial *trial, const struct function *function, unsigned weight);

/* Is there time left? Writes what has waited long enough. */
bool trial_goes_on(struct trial *trial);

/* A number below `bound`. */
unsigned trial_draw(struct trial *trial, unsigned bound);

/* Numbers 0 to count - 1 in a random order: turns that came in a fixed one could march in step with
 * the samples. */
void trial_shuffle(struct trial *trial, unsigned *turns, unsigned count);

/* Of a child: its own comm, truth and writer. */
void trial_inherit(struct trial *trial, const char *comm);

/* What a mode ends with; a child then calls _exit(). */
void trial_end(struct trial *trial);

/* The modes; each returns when the time is over. */
void run_steady(struct trial *trial);
void run_stale(struct trial *trial);
void run_reuse(struct trial *trial);
void run_move(struct trial *trial);
void run_nested(struct trial *trial);
void run_torn(struct trial *trial);
void run_fork_private(struct trial *trial);
void run_fork_shared(struct trial *trial);
void run_hostile_tiny(struct trial *trial);
void run_hostile_huge(struct trial *trial);
void run_hostile_names(struct trial *trial);
void run_hostile_same(struct trial *trial);
void run_hostile_rewrite(struct trial *trial);
void run_hostile_many(struct trial *trial);
